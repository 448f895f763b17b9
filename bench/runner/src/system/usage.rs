//! What the system says of a process that runs.

use std::fs;
use std::time::Duration;

use crate::Error;

/// CPU time and memory of a process, until now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// User and system time.
    pub(crate) cpu: Duration,
    /// Resident memory, in bytes.
    pub(crate) rss: u64,
}

impl Usage {
    /// Asks for those of a process.
    pub(crate) fn of(process: u32) -> Result<Self, Error> {
        parse(&read(process, "stat")?, &read(process, "status")?)
            .ok_or_else(|| Error::failed("cannot read what the system says of a process"))
    }
}

/// The linear memory of the guests of a process that runs components, in bytes.
pub(crate) fn guest_memory(process: u32) -> Result<u64, Error> {
    guests(&read(process, "maps")?)
        .ok_or_else(|| Error::failed("cannot read what the system says of a process's memory"))
}

fn read(process: u32, file: &str) -> Result<String, Error> {
    fs::read_to_string(format!("/proc/{process}/{file}"))
        .map_err(|error| Error::failed(format!("cannot tell what a process uses: {error}")))
}

/// Reads utime and stime of /proc/PID/stat and VmRSS of /proc/PID/status (`proc(5)`).
fn parse(stat: &str, status: &str) -> Option<Usage> {
    /// The unit in which Linux reports to programs, on every architecture: USER_HZ.
    const TICK: Duration = Duration::from_millis(10);
    // The name, in brackets, may hold anything; the first after it is field 3, utime and stime are 14 and 15.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(14 - 3);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    let cpu = TICK * (ticks()? + ticks()?);
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = rss.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(Usage { cpu, rss: kib << 10 })
}

/// Sums the linear memories in /proc/PID/maps: what is writable right before the rest of the address space that the engine
/// has reserved for a memory to grow into, some GiB of which nothing may be touched yet.
fn guests(maps: &str) -> Option<u64> {
    /// No other reservation is as large: those of the allocator have 64 MiB, stacks and guards less.
    const RESERVED: u64 = 1 << 30;
    let (mut total, mut writable, mut last) = (0, 0, 0);
    for line in maps.lines() {
        let mut fields = line.split(' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
        let access = fields.next()?;
        if start != last {
            writable = 0;
        }
        match access.get(..3)? {
            "rw-" => writable += end - start,
            "---" if end - start >= RESERVED => {
                total += writable;
                writable = 0;
            }
            _ => writable = 0,
        }
        last = end;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        let stat = "12 (a (name) 7) S 1 2 3 4 5 6 7 8 9 10 250 30 0 0 20 0";
        let usage = parse(stat, "Name:\tx\nVmRSS:\t   1234 kB\nThreads:\t2\n").unwrap();
        assert_eq!((usage.cpu, usage.rss), (Duration::from_millis(2_800), 1_234 << 10));
        assert!(parse("12 (x) S 1", "VmRSS:\t1 kB").is_none());
        assert!(parse(stat, "Name:\tx").is_none());
        assert!(Usage::of(std::process::id()).unwrap().rss > 100_000);
    }

    #[test]
    fn a_guests_memory_is_what_lies_before_its_reservation() {
        let maps = "\
5562321d7000-55623227d000 rw-p 00000000 00:00 0                          [heap]
7f42a6fee000-7f42a71ff000 rw-p 00000000 00:00 0 
7f42a71ff000-7f42a7200000 ---p 00000000 00:00 0 
7f42a7400000-7f42a9400000 ---p 00000000 00:00 0 
7f42a9400000-7f42a9500000 rw-p 00000000 00:00 0 
7f42a9500000-7f42a953a000 rw-p 004da000 fe:00 10133568                   /cache/code/a name
7f42a953a000-7f42a9650000 rw-p 00000000 00:00 0 
7f42a9650000-7f43ab400000 ---p 00000000 00:00 0 
7f43ab400000-7f43ab401000 r--p 00000000 fe:00 10133568                   /cache/code/a name
7f43ab9be000-7f43abc6c000 rw-p 00000000 00:00 0 
";
        assert_eq!(guests(maps), Some(0x25_0000));
        assert_eq!(guests(&maps.replace("7f42a9650000-", "7f42a9651000-")), Some(0), "not beside it");
        assert_eq!(guests("nonsense"), None);
        assert_eq!(guest_memory(std::process::id()).unwrap(), 0, "this one runs no guest");
    }
}
