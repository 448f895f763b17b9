//! The transfer protocol of the guests and the benchmarks, over sandquic's endpoint.
