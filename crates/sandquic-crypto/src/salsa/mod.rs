//! Salsa20/8, /12, /20, XSalsa20 and HSalsa20.
