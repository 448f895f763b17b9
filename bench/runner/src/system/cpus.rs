//! Processors, and pinning children to them.

use std::fmt;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// A set of processors by number, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CpuList(Vec<usize>);

impl CpuList {
    /// Calls `spawn` while this thread may only run on these processors, and puts the thread back: a child inherits
    /// the restriction from the thread that starts it, before any thread of its own exists.
    pub(crate) fn pinned<T>(&self, spawn: impl FnOnce() -> T) -> Result<T, nix::Error> {
        let this_thread = Pid::from_raw(0);
        let before = sched_getaffinity(this_thread)?;
        let mut set = CpuSet::new();
        for &cpu in &self.0 {
            set.set(cpu)?;
        }
        sched_setaffinity(this_thread, &set)?;
        let result = spawn();
        sched_setaffinity(this_thread, &before)?;
        Ok(result)
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, cpu) in self.0.iter().enumerate() {
            write!(f, "{}{cpu}", if i > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

/// Splits the processors that this process may use between the sender (the lower half) and the receiver (the upper
/// half, the larger if their number is odd). `None` if there are fewer than two, or the system does not tell.
pub(crate) fn split_cpus() -> Option<(CpuList, CpuList)> {
    let allowed = sched_getaffinity(Pid::from_raw(0)).ok()?;
    let cpus = (0..CpuSet::count()).filter(|&cpu| allowed.is_set(cpu).unwrap_or(false)).collect();
    split(cpus)
}

fn split(mut cpus: Vec<usize>) -> Option<(CpuList, CpuList)> {
    if cpus.len() < 2 {
        return None;
    }
    let upper = cpus.split_off(cpus.len() / 2);
    Some((CpuList(cpus), CpuList(upper)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_split_in_halves() {
        let show = |cpus: Vec<usize>| split(cpus).map(|(a, b)| format!("{a} {b}"));
        assert_eq!(show(vec![]), None);
        assert_eq!(show(vec![3]), None);
        assert_eq!(show(vec![0, 1]).as_deref(), Some("0 1"));
        assert_eq!(show(vec![0, 2, 5]).as_deref(), Some("0 2,5"));
        assert_eq!(show((0..8).collect()).as_deref(), Some("0,1,2,3 4,5,6,7"));
    }

    #[test]
    fn a_pinned_thread_is_put_back() {
        let Some((lower, upper)) = split_cpus() else { return };
        let before = sched_getaffinity(Pid::from_raw(0)).unwrap();
        let within = lower.pinned(split_cpus_count).unwrap();
        assert_eq!(within, lower.0.len());
        assert_eq!(upper.pinned(split_cpus_count).unwrap(), upper.0.len());
        assert_eq!(sched_getaffinity(Pid::from_raw(0)).unwrap(), before);
    }

    fn split_cpus_count() -> usize {
        let set = sched_getaffinity(Pid::from_raw(0)).unwrap();
        (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap()).count()
    }
}
