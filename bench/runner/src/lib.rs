//! The runner of sandquic's evaluation: peers, scenarios, records.
