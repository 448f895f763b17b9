//! Every operation of every vector type against the portable one, which is written to be read.

use super::{Kernel, Vector, portable};
