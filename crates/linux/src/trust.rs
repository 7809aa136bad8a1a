//! What may be run, or compiled, as root: nobody else could have put it there.

use crate::names::shown;
use rustix::fs::lgetxattr;
use rustix::io::Errno;
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Can nobody but root and the caller change what is run from here? The path, the folders above it, and all that is below
/// it belong to one of the two, and no one else may write to them. (A folder for all such as /tmp may stand above, where
/// only an owner may rename. Of `sudo` the caller is who called it. A person's group of the owner's own number is the
/// owner's alone, as pam_umask(8) has it: not root's.) Gives the path without links, which is what was looked at: the one that was asked for
/// may be another by now. `instead` is what else can be done.
///
/// # Errors
/// The first path that somebody else can change, and what to do about it.
pub fn trusted(path: &Path, instead: &str) -> Result<PathBuf, String> {
    let real = fs::canonicalize(path).map_err(|e| unread(path, &e))?;
    Trust::new(instead).all(&real)?;
    Ok(real)
}

fn unread(path: &Path, e: &std::io::Error) -> String {
    format!("{}: {e}", path.display())
}

struct Trust<'a> {
    owners: [u32; 3],
    instead: &'a str,
    /// Folders that were looked at.
    seen: HashSet<PathBuf>,
}

impl<'a> Trust<'a> {
    fn new(instead: &'a str) -> Trust<'a> {
        let me = rustix::process::geteuid().as_raw();
        let sudo = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok()).filter(|_| me == 0);
        Trust { owners: [0, me, sudo.unwrap_or(me)], instead, seen: HashSet::new() }
    }

    /// A real path with what is above it, and below.
    fn all(&mut self, real: &Path) -> Result<(), String> {
        self.way(real)?;
        match real.is_dir() {
            true => self.below(real),
            false => Ok(()),
        }
    }

    /// A real path, and each folder above it.
    fn way(&self, path: &Path) -> Result<(), String> {
        path.ancestors().enumerate().try_for_each(|(up, p)| {
            let meta = fs::symlink_metadata(p).map_err(|e| unread(p, &e))?;
            self.one(p, &meta, up > 0)
        })
    }

    fn below(&mut self, path: &Path) -> Result<(), String> {
        if !self.seen.insert(path.into()) {
            return Ok(());
        }
        for entry in fs::read_dir(path).map_err(|e| unread(path, &e))? {
            let path = entry.map_err(|e| unread(path, &e))?.path();
            let meta = fs::symlink_metadata(&path).map_err(|e| unread(&path, &e))?;
            if !meta.is_symlink() {
                self.one(&path, &meta, false)?;
                if meta.is_dir() {
                    self.below(&path)?;
                }
                continue;
            }
            // A link that leads nowhere has nothing to run.
            if let Ok(real) = fs::canonicalize(&path) {
                self.all(&real)?;
            }
        }
        Ok(())
    }

    fn one(&self, path: &Path, meta: &fs::Metadata, above: bool) -> Result<(), String> {
        let mode = meta.mode() & 0o7777;
        let own_group = meta.gid() == meta.uid() && meta.gid() >= PEOPLE && !has_list(path);
        let (path, instead) = (shown(path.as_os_str()), self.instead);
        if !self.owners.contains(&meta.uid()) {
            let owner = format!("it belongs to user {}, neither to root nor to you", meta.uid());
            let all = if meta.is_dir() && !above { "-R " } else { "" };
            return Err(format!(
                "{path}: {owner}, and what is run could be anything: 'chown {all}{} {path}' if you know what is in it, or {instead}",
                self.owners[1]
            ));
        }
        let group = mode & 0o020 != 0 && !own_group;
        if (group || mode & 0o002 != 0) && !(above && mode & 0o1000 != 0) {
            return Err(format!(
                "{path}: others than its owner may write here (mode {mode:04o}), and what is run could be anything: \
                 'chmod go-w {path}' if you know what is in it, or {instead}"
            ));
        }
        Ok(())
    }
}

/// The first number of people's groups: those below are the system's, which may have others in them.
const PEOPLE: u32 = 1000;

/// Has it an access list (acl(5)), or is that not known? What the mode says of the group is then what anybody in the list may do at most.
fn has_list(path: &Path) -> bool {
    let asked = lgetxattr(path, "system.posix_acl_access", &mut [0u8; 0]);
    !matches!(asked, Err(Errno::NODATA | Errno::OPNOTSUPP))
}

/// A folder of this process's own where temporary ones are made, if nobody else can put another in its place: the environment, which is
/// others' choice, says where that is.
///
/// # Errors
/// What others can change; or none can be made.
pub fn scratch(prefix: &str) -> Result<TempDir, String> {
    scratch_in(&std::env::temp_dir(), prefix)
}

fn scratch_in(temporary: &Path, prefix: &str) -> Result<TempDir, String> {
    let wrong = |e: std::io::Error| format!("a temporary folder in {}: {e}", temporary.display());
    let real = fs::canonicalize(temporary).map_err(wrong)?;
    let private = fs::Permissions::from_mode(0o700);
    let dir =
        tempfile::Builder::new().prefix(prefix).permissions(private).tempdir_in(&real).map_err(wrong)?;
    // From that one on, which is ours: /tmp, where everybody may write, is above it.
    Trust::new("set TMPDIR to another folder").way(dir.path())?;
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_testing::{Lack, left_out};
    use std::fs::Permissions;
    use std::os::unix::fs::{chown, symlink};

    fn may(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn temporary_files_are_not_where_others_may_put_theirs() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("tmp");
        fs::create_dir(&inside).unwrap();
        scratch_in(&inside, "ours").unwrap();
        // As /tmp is.
        may(&inside, 0o1777);
        scratch_in(&inside, "ours").unwrap();
        may(&inside, 0o777);
        let said = scratch_in(&inside, "ours").expect_err("anybody may rename it");
        assert!(said.contains("others than its owner may write here") && said.contains("TMPDIR"), "{said}");
        may(&inside, 0o755);
        if rustix::process::geteuid().is_root() {
            chown(&inside, Some(65534), None).unwrap();
            let said = scratch_in(&inside, "ours").expect_err("its owner may");
            assert!(said.contains("it belongs to user 65534") && said.contains("TMPDIR"), "{said}");
        }
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 0, "what is refused is gone again");
    }

    fn refused(path: &Path, by: &str) {
        let said = trusted(path, "set QUEUEWRIGHT_LAB").expect_err(by);
        assert!(said.contains(by) && said.contains("QUEUEWRIGHT_LAB"), "{said}");
    }

    #[test]
    fn what_others_can_change_is_not_run() {
        let dir = tempfile::tempdir().unwrap();
        let lab = dir.path().join("build/lab");
        fs::create_dir_all(lab.join("root/bin")).unwrap();
        let elsewhere = dir.path().join("elsewhere");
        for file in [lab.join("agent"), lab.join("root/bin/qemu"), elsewhere.clone()] {
            fs::write(&file, "").unwrap();
            may(&file, 0o755);
        }
        symlink(&elsewhere, lab.join("tc")).unwrap();
        symlink("nowhere", lab.join("gone")).unwrap();
        trusted(&lab, "").unwrap();
        let all = [
            lab.join("agent"),
            lab.join("root/bin"),
            lab.join("root/bin/qemu"),
            lab.clone(),
            dir.path().join("build"),
            elsewhere,
        ];
        for path in &all {
            let real = fs::canonicalize(path).unwrap().display().to_string();
            may(path, 0o757);
            refused(&lab, &format!("{real}: others than its owner may write here (mode 0757)"));
            may(path, 0o755);
        }
        // As /tmp is; the folders of the lab itself are for nobody else.
        may(&dir.path().join("build"), 0o1777);
        trusted(&lab, "").unwrap();
        may(&lab, 0o1777);
        refused(&lab, "(mode 1777)");
        may(&lab, 0o755);
        if rustix::process::geteuid().is_root() {
            for path in &all {
                chown(path, Some(4711), None).unwrap();
                refused(&lab, "it belongs to user 4711, neither to root nor to you");
                chown(path, Some(0), None).unwrap();
            }
            chown(&all[0], None, Some(4711)).unwrap();
            may(&all[0], 0o775);
            refused(&lab, "(mode 0775)");
            // Root's own group may have others in it.
            chown(&all[0], None, Some(0)).unwrap();
            refused(&lab, "(mode 0775)");
        } else {
            left_out("a lab of a stranger's", Lack::Setup, &"only root can give files away");
        }
    }

    /// A list says who else may write, where the mode seems to say that the owner's own group may.
    #[test]
    fn what_a_list_lets_others_write_is_not_run() {
        if !rustix::process::geteuid().is_root() {
            return left_out("access lists", Lack::Setup, &"only root can give files away");
        }
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("late.h");
        fs::write(&file, "").unwrap();
        chown(&file, Some(4711), Some(4711)).unwrap();
        may(&file, 0o664);
        let trust = Trust { owners: [0, 4711, 4711], ..Trust::new("name another file") };
        trust.way(&file).unwrap();
        // Version 2; tag, rights and number of each: the owner, user 4712, the group, the most, others.
        let entries =
            [(1, 6, u32::MAX), (2, 6, 4712), (4, 4, u32::MAX), (16, 6, u32::MAX), (32, 4, u32::MAX)];
        let mut list = 2u32.to_le_bytes().to_vec();
        for (tag, rights, number) in entries {
            list.extend([tag, rights].map(u16::to_le_bytes).as_flattened());
            list.extend(number.to_le_bytes());
        }
        let set =
            rustix::fs::setxattr(&file, "system.posix_acl_access", &list, rustix::fs::XattrFlags::empty());
        match set {
            Ok(()) => {}
            Err(Errno::OPNOTSUPP) => {
                return left_out("access lists", Lack::Kernel, &"this file system has none");
            }
            Err(e) => panic!("{e}"),
        }
        let said = trust.way(&file).expect_err("4712 may write");
        assert!(said.contains("others than its owner may write here (mode 0664)"), "{said}");
        // As it says.
        may(&file, 0o644);
        trust.way(&file).unwrap();
    }

    /// What is above a file is not all of the file's owner.
    #[test]
    fn advice_is_for_what_is_looked_at_alone() {
        if !rustix::process::geteuid().is_root() {
            return left_out("advice on a stranger's folder", Lack::Setup, &"only root can give files away");
        }
        let dir = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(dir.path()).unwrap().join("it's");
        fs::create_dir(&folder).unwrap();
        let file = folder.join("late.h");
        fs::write(&file, "").unwrap();
        let advice = |of: &Path| {
            chown(of, Some(4711), None).unwrap();
            let said = trusted(&file, "name another file").expect_err("a stranger's");
            chown(of, Some(0), None).unwrap();
            said
        };
        let quoted = |path: &Path| shown(path.as_os_str());
        for path in [&folder, &file] {
            let said = advice(path);
            assert!(said.contains(&format!("'chown 0 {}'", quoted(path))), "{said}");
        }
        chown(&folder, Some(4711), None).unwrap();
        let said = trusted(&folder, "set QUEUEWRIGHT_LAB").expect_err("a stranger's");
        assert!(said.contains(&format!("'chown -R 0 {}'", quoted(&folder))), "{said}");
    }
}
