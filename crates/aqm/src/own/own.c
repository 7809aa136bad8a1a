/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A file of a user's own, and the table of what is in it. Before it is compiled
 * @x@ and @X@ become its name, @file@ its path, @end@ its last line, and
 * @text@ what is in it. What is missing in it is said of its last line.
 */
#include "table.h"

# 1 "@file@"
@text@
