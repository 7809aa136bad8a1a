//! The guest's files: as an initramfs, a cpio archive in the "newc" format (Linux, Documentation/driver-api/early-userspace/
//! buffer-format.rst), the same bytes for the same content; or in a folder, for this machine's own kernel.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Where the files go. Names are from the root.
pub trait Files {
    /// A folder, file or program, by its mode.
    ///
    /// # Errors
    /// Of reading and writing.
    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) -> io::Result<()>;

    /// A folder.
    ///
    /// # Errors
    /// Of reading and writing.
    fn folder(&mut self, name: &str) -> io::Result<()> {
        self.entry(name, DIRECTORY, &[])
    }

    /// A file.
    ///
    /// # Errors
    /// Of reading and writing.
    fn file(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.entry(name, FILE, content)
    }

    /// A program.
    ///
    /// # Errors
    /// Of reading and writing.
    fn program(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.entry(name, PROGRAM, content)
    }

    /// Everything in a folder, by name.
    ///
    /// # Errors
    /// Of reading and writing.
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
#[derive(Debug)]
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
#[derive(Debug)]
pub struct Archive<W: Write> {
    out: W,
    inode: u32,
}

/// Mode of a folder.
pub const DIRECTORY: u32 = 0o040_755;
/// Mode of a program.
pub const PROGRAM: u32 = 0o100_755;
/// Mode of a file.
pub const FILE: u32 = 0o100_644;

impl<W: Write> Archive<W> {
    /// An empty one.
    pub fn new(out: W) -> Archive<W> {
        Archive { out, inode: 0 }
    }

    /// Ends the archive.
    ///
    /// # Errors
    /// Of writing.
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
}
