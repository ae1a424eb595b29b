"""The law of cuts: one stream gives the same rows, the same lines set aside with the same codes, the same announced
types and the same warnings, however its files are cut into epochs and runs."""
