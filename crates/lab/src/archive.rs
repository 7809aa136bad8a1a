//! The guest's files: as an initramfs, a cpio archive in the "newc" format (Linux, Documentation/driver-api/early-userspace/
//! buffer-format.rst), the same bytes for the same content; or in a folder, for this machine's own kernel.

use crate::Error;
use queuewright_linux::command;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where the files go. Names are from the root.
pub trait Files {
    /// A folder, file or program, by its mode.
    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) -> io::Result<()>;

    /// A folder.
    fn folder(&mut self, name: &str) -> io::Result<()> {
        self.entry(name, DIRECTORY, &[])
    }

    /// A file.
    fn file(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.entry(name, FILE, content)
    }

    /// A program.
    fn program(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.entry(name, PROGRAM, content)
    }

    /// Everything in a folder, by name.
    fn tree(&mut self, dir: &Path, under: &str) -> io::Result<()> {
        let mut entries: Vec<fs::DirEntry> = fs::read_dir(dir)?.collect::<io::Result<_>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = format!("{under}{}", entry.file_name().to_string_lossy());
            let meta = fs::metadata(entry.path())?;
            if meta.is_dir() {
                self.folder(&name)?;
                self.tree(&entry.path(), &format!("{name}/"))?;
            } else if meta.permissions().mode() & 0o111 != 0 {
                self.program(&name, &fs::read(entry.path())?)?;
            } else {
                self.file(&name, &fs::read(entry.path())?)?;
            }
        }
        Ok(())
    }
}

/// A folder of this machine's.
pub struct Folder<'a>(pub &'a Path);

impl Files for Folder<'_> {
    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        let path = self.0.join(name);
        match mode {
            DIRECTORY => fs::create_dir_all(&path)?,
            _ => fs::write(&path, content)?,
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(mode & 0o777))
    }
}

/// An archive as it grows.
pub struct Archive<W: Write> {
    out: W,
    inode: u32,
}

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;

impl<W: Write> Archive<W> {
    /// An empty one.
    pub fn new(out: W) -> Archive<W> {
        Archive { out, inode: 0 }
    }

    /// Ends the archive.
    pub fn finish(mut self) -> io::Result<()> {
        self.inode = 0;
        self.entry("TRAILER!!!", 0, &[])?;
        self.out.flush()
    }
}

impl<W: Write> Files for Archive<W> {
    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        self.inode += 1;
        let links = if mode == DIRECTORY { 2 } else { 1 };
        // inode, mode, uid, gid, links, mtime, size, device and special device (two numbers each), name, checksum
        let fields =
            [self.inode, mode, 0, 0, links, 0, content.len() as u32, 0, 0, 0, 0, name.len() as u32 + 1, 0];
        let mut head = String::from("070701");
        for field in fields {
            head += &format!("{field:08x}");
        }
        head += name;
        head.push('\0');
        // Names and contents begin on multiples of four bytes.
        let pad = |n: usize| &[0u8; 3][..n.wrapping_neg() & 3];
        self.out.write_all(head.as_bytes())?;
        self.out.write_all(pad(head.len()))?;
        self.out.write_all(content)?;
        self.out.write_all(pad(content.len()))
    }
}

/// These modules, each after those that it needs; `read` gives a module's content. What it does not find is left out: it is
/// built into this kernel, or missing, and then tc or the socket says so.
pub fn modules(
    names: &[&str],
    read: impl Fn(&str) -> Result<Option<Vec<u8>>, Error>,
) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut loaded = Vec::new();
    for name in names {
        load(name, &read, &mut loaded)?;
    }
    Ok(loaded)
}

fn load(
    name: &str,
    read: &impl Fn(&str) -> Result<Option<Vec<u8>>, Error>,
    loaded: &mut Vec<(String, Vec<u8>)>,
) -> Result<(), Error> {
    if loaded.iter().any(|(n, _)| n == name) {
        return Ok(());
    }
    let Some(content) = read(name)? else { return Ok(()) };
    for needed in needs(&content) {
        load(&needed, read, loaded)?;
    }
    loaded.push((name.into(), content));
    Ok(())
}

/// What a module says that it needs, in its section `.modinfo`: texts that end with 0, `depends=one,two` among them.
fn needs(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|w| w == KEY) else { return Vec::new() };
    let list = module[at + KEY.len()..].split(|b| *b == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(list).into_owned();
    names.split(',').filter(|n| !n.is_empty()).map(|n| n.replace('-', "_")).collect()
}

/// A kernel module as the kernel loads it: found by name, unpacked. None: the kernel has no such module, so that
/// either it is built in or the guest says what is missing.
pub fn module(modules: &Path, name: &str) -> Result<Option<Vec<u8>>, Error> {
    let Some(path) = find(&modules.join("kernel"), name) else { return Ok(None) };
    let error = |e: &dyn std::fmt::Display| Error::Machine(format!("{}: {e}", path.display()));
    let unpack = match path.extension().and_then(|e| e.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        Some("gz") => "gzip",
        _ => return fs::read(&path).map(Some).map_err(|e| error(&e)),
    };
    let done =
        command(unpack).arg("-dc").arg(&path).output().map_err(|e| error(&format!("{unpack}: {e}")))?;
    match done.status.success() {
        true => Ok(Some(done.stdout)),
        false => Err(error(&String::from_utf8_lossy(&done.stderr).trim())),
    }
}

fn find(dir: &Path, name: &str) -> Option<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir).ok()?.flatten().map(|e| e.path()).collect();
    entries.sort();
    entries.into_iter().find_map(|path| match path.is_dir() {
        true => find(&path, name),
        false => {
            let file = path.file_name()?.to_str()?;
            // Underscores and hyphens are the same in a module's name.
            let plain = file.split(".ko").next()?.replace('-', "_");
            (plain == name && file.contains(".ko")).then_some(path)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_begin_on_multiples_of_four() {
        let mut bytes = Vec::new();
        let mut a = Archive::new(&mut bytes);
        a.folder("d").expect("memory");
        a.file("d/odd", b"12345").expect("memory");
        a.program("init", b"x").expect("memory");
        a.finish().expect("memory");
        let heads: Vec<usize> =
            bytes.windows(6).enumerate().filter(|(_, w)| *w == b"070701").map(|(i, _)| i).collect();
        assert_eq!(heads.len(), 4);
        assert!(heads.iter().all(|at| at % 4 == 0), "{heads:?}");
        assert_eq!(bytes.len() % 4, 0);
        assert!(bytes.windows(5).any(|w| w == b"12345"));
    }
    /// YeAH is made of Vegas.
    #[test]
    fn modules_come_after_what_they_need() {
        let read = |name: &str| {
            let needs = match name {
                "tcp_yeah" => "tcp-vegas,built_in",
                "tcp_vegas" => "",
                "twice" => "tcp_vegas,tcp_yeah",
                _ => return Ok(None),
            };
            Ok(Some(format!("\x7fELF\0license=GPL\0depends={needs}\0vermagic=7\0").into_bytes()))
        };
        let loaded = modules(&["tcp_yeah", "missing", "twice", "tcp_vegas"], read).expect("they are there");
        let names: Vec<&str> = loaded.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["tcp_vegas", "tcp_yeah", "twice"]);
        assert!(needs(b"no module").is_empty());
    }
}
