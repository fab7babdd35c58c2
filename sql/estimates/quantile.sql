-- Helpers: the quantile of the normal distribution, for intervals of any confidence.

-- The square of the z of a two-sided interval; and where so many intervals are to hold together.
CREATE MACRO _squared_quantile() AS 3.8414588206941236e0;
CREATE MACRO _squared_quantile(confidence) AS pow(_upper_quantile(_confidence(confidence)), 2);
CREATE MACRO _shared_quantile(parts) AS pow(_upper_quantile(1 - 0.05e0 / parts), 2);
CREATE MACRO _shared_quantile(parts, confidence) AS pow(_upper_quantile(1 - (1 - _confidence(confidence)) / parts), 2);
CREATE MACRO _confidence(confidence) AS
CASE WHEN TRY_CAST(confidence AS DOUBLE) > 0 AND TRY_CAST(confidence AS DOUBLE) < 1 THEN TRY_CAST(confidence AS DOUBLE)
  ELSE error('sqlpriv: the confidence must lie between 0 and 1, as in 0.95') END;

-- The z that so much of a normal distribution is within, to both sides: Wichura's algorithm AS241, right to about 16 digits.
CREATE MACRO _upper_quantile(within) AS
CASE
  WHEN within <= 0.85e0 THEN _quotient_of(0.180625e0 - within / 2 * (within / 2),
    [2509.0809287301226727e0, 33430.575583588128105e0, 67265.770927008700853e0, 45921.953931549871457e0, 13731.693765509461125e0, 1971.5909503065514427e0, 133.14166789178437745e0, 3.3871328727963666080e0],
    [5226.4952788528545610e0, 28729.085735721942674e0, 39307.895800092710610e0, 21213.794301586595867e0, 5394.1960214247511077e0, 687.18700749205790830e0, 42.313330701600911252e0, 1e0]) * (within / 2)
  WHEN _tail(within) <= 5 THEN _quotient_of(_tail(within) - 1.6e0,
    [7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0, 3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0],
    [1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1e0])
  ELSE _quotient_of(_tail(within) - 5,
    [2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0],
    [2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1e0])
END;
CREATE MACRO _tail(within) AS sqrt(-ln(greatest(1 - (1 + within) / 2, 5e-17)));
-- The quotient of two polynomials, their coefficients from the highest power on.
CREATE MACRO _quotient_of(x, upper_numbers, lower_numbers) AS (_polynomial(x, upper_numbers) / _polynomial(x, lower_numbers));
CREATE MACRO _polynomial(x, numbers) AS list_reduce(CAST(numbers AS DOUBLE[]), lambda so_far, next_one: so_far * x + next_one);
