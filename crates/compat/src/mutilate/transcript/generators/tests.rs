//! The lines of generators, as the originals log them.

use super::*;

#[test]
fn each_law_is_told_as_the_originals_tell_it() {
    for (word, of_mutilate, of_mcperf) in [
        ("200", "Generator.h(53): Fixed(200.000000)\n", "Generator.h(53): Fixed(200.000000)\n"),
        (
            "uniform:100",
            "Generator.h(66): Uniform(100.000000)\n",
            "Generator.h(86): Uniform(0.000000..100.000000)\n",
        ),
        (
            "normal:5,1",
            "Generator.h(85): Normal(mean=5.000000, sd=1.000000)\n",
            "Generator.h(104): Normal(mean=5.000000, sd=1.000000)\n",
        ),
        (
            "exponential",
            "Generator.h(107): Exponential(lambda=0.000000)\n",
            "Generator.h(126): Exponential(lambda=0.000000)\n",
        ),
        (
            "fb_key",
            "Generator.h(150): GEV(loc=30.798400, scale=8.204490, shape=0.078688)\n",
            "Generator.h(169): GEV(loc=30.798400, scale=8.204490, shape=0.078688)\n",
        ),
        (
            "fb_value",
            "Generator.h(127): GPareto(loc=15.000000, scale=214.476000, shape=0.348238)\n",
            "Generator.h(146): GPareto(loc=15.000000, scale=214.476000, shape=0.348238)\n",
        ),
    ] {
        let law = |bounds| Law::read(word, bounds).unwrap().unwrap();
        assert_eq!(MUTILATE.line(law(false)), of_mutilate, "{word}");
        assert_eq!(MCPERF.line(law(true)), of_mcperf, "{word}");
    }
}
