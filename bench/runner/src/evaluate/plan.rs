//! What a measurement will take, and the sizes with which it fits into its time.

/// What a run takes: `fixed` seconds and `each` seconds for each byte (or connection).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cost {
    pub(crate) fixed: f64,
    pub(crate) each: f64,
}

impl Cost {
    /// Seconds of a run of this amount.
    pub(crate) fn seconds(self, amount: u64) -> f64 {
        self.fixed + self.each * amount as f64
    }
}

/// Runs that remain to be done of one cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    pub(crate) cost: Cost,
    /// Bytes or connections of a run, as asked for.
    pub(crate) amount: u64,
    pub(crate) times: u32,
}

/// What remains to be done of one scenario.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    pub(crate) work: Vec<Work>,
    /// Largest power of two by which amounts may be divided.
    pub(crate) largest_divisor: u32,
    /// The divisor of an earlier session, which this one keeps to.
    pub(crate) settled: Option<u32>,
    pub(crate) weight: f64,
}

impl Load {
    /// Seconds with amounts divided.
    pub(crate) fn seconds(&self, divisor: u32) -> f64 {
        let divided = |work: &Work| work.cost.seconds(work.amount / u64::from(divisor));
        self.work.iter().map(|work| f64::from(work.times) * divided(work)).sum()
    }

    /// Seconds that depend on amounts, relative to the weight.
    fn reducible(&self, divisor: u32) -> f64 {
        let each = |work: &Work| work.cost.each * (work.amount / u64::from(divisor)) as f64;
        self.work.iter().map(|work| f64::from(work.times) * each(work)).sum::<f64>() / self.weight
    }
}

/// Divisors with which all loads together take at most so many seconds: the load that takes the longest for its weight
/// is halved until they do.
///
/// # Errors
/// The seconds that the smallest sizes take, if that is more.
pub(crate) fn fit(loads: &[Load], seconds: f64) -> Result<Vec<u32>, f64> {
    let mut divisors: Vec<u32> = loads.iter().map(|load| load.settled.unwrap_or(1)).collect();
    loop {
        let total: f64 = loads.iter().zip(&divisors).map(|(load, &divisor)| load.seconds(divisor)).sum();
        if total <= seconds {
            return Ok(divisors);
        }
        let longest = loads
            .iter()
            .zip(&mut divisors)
            .filter(|(load, divisor)| load.settled.is_none() && **divisor < load.largest_divisor)
            .max_by(|(a, da), (b, db)| a.reducible(**da).total_cmp(&b.reducible(**db)));
        match longest {
            Some((_, divisor)) => *divisor *= 2,
            None => return Err(total),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(fixed: f64, each: f64, times: u32, largest_divisor: u32) -> Load {
        let work = vec![Work { cost: Cost { fixed, each }, amount: 1024, times }];
        Load { work, largest_divisor, settled: None, weight: 1.0 }
    }

    #[test]
    fn what_fits_is_left_alone() {
        let loads = [load(1.0, 1.0, 2, 8), load(0.0, 0.5, 4, 8)];
        assert_eq!(loads[0].seconds(1), 2050.0);
        assert_eq!(fit(&loads, 4098.0), Ok(vec![1, 1]));
    }

    #[test]
    fn the_longest_is_halved_first_and_never_below_its_bound() {
        let loads = [load(0.0, 1.0, 20, 8), load(0.0, 1.0, 2, 8)];
        assert_eq!(fit(&loads, 13_000.0), Ok(vec![2, 1]));
        assert_eq!(fit(&loads, 4_700.0), Ok(vec![8, 1]));
        assert_eq!(fit(&loads, 2_900.0), Ok(vec![8, 8]));
        // 20 and 2 runs of 128 each.
        assert_eq!(fit(&loads, 2_800.0), Err(2_816.0));
    }

    #[test]
    fn weight_keeps_a_scenario_large() {
        let mut loads = [load(0.0, 1.0, 4, 64), load(0.0, 1.0, 2, 64)];
        assert_eq!(fit(&loads, 4_100.0), Ok(vec![2, 1]));
        loads[0].weight = 4.0;
        assert_eq!(fit(&loads, 5_200.0), Ok(vec![1, 2]));
    }

    #[test]
    fn fixed_costs_and_settled_sizes_stay() {
        let mut loads = [load(5.0, 1.0, 1, 64), load(5.0, 1.0, 1, 64)];
        loads[0].settled = Some(4);
        let divisors = fit(&loads, 5.0 + 256.0 + 5.0 + 128.0).unwrap();
        assert_eq!(divisors, [4, 8]);
        assert_eq!(fit(&loads, 100.0), Err(5.0 + 256.0 + 5.0 + 16.0));
        assert_eq!(fit(&[], 0.0), Ok(vec![]));
    }
}
