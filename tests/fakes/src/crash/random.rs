//! Random choices that follow from a seed (SplitMix64).

use std::time::Duration;

/// One stream of choices. Streams of one seed are independent of each other, so that the choices of
/// one person do not depend on how the others are scheduled.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed ^ stream.wrapping_mul(0xd6e8_feb8_6659_fd93));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `limit` - 1.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// True in that many of a hundred cases.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A time from `from` up to `to` milliseconds.
    pub fn millis(&mut self, from: usize, to: usize) -> Duration {
        Duration::from_millis((from + self.below(to - from + 1)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_choices_again() {
        let choices = |seed, stream| {
            let mut random = Random::new(seed, stream);
            (0..50).map(|_| random.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(choices(7, 1), choices(7, 1));
        assert_ne!(choices(7, 1), choices(7, 2));
        assert_ne!(choices(7, 1), choices(8, 1));
    }

    #[test]
    fn choices_stay_within_their_limits() {
        let mut random = Random::new(1, 1);
        for _ in 0..1000 {
            assert!(random.below(3) < 3);
            let time = random.millis(20, 30);
            assert!((20..=30).contains(&time.as_millis()));
        }
        assert!(!random.percent(0));
        assert!(random.percent(100));
    }
}
