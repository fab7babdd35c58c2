-- Estimates from a randomized release: the intervals around sums and ratios, and counts over its domain in pure SQL.

-- The score interval of a sum: the values theta whose estimate is within z standard deviations, where the variance at
-- theta is variance + slope (theta - estimate). A variance estimated below 0 counts as 0.
CREATE MACRO _score_low(estimate, variance, slope, z) AS estimate + (z * z * slope - _score_root(variance, slope, z)) / 2;
CREATE MACRO _score_high(estimate, variance, slope, z) AS estimate + (z * z * slope + _score_root(variance, slope, z)) / 2;
CREATE MACRO _score_root(variance, slope, z) AS z * sqrt(z * z * slope * slope + 4 * greatest(variance, 0));

-- How the variance grows with the sum: third moment over second, where there is a second.
CREATE MACRO _slope(third, second) AS CASE WHEN second > 0 THEN third / second ELSE 0 END;

-- Fieller's interval of a ratio: NULL when the denominator may be 0.
CREATE MACRO _ratio_low(upper, lower, upper_variance, covariance, lower_variance, z) AS
CASE WHEN _ratio_square(lower, lower_variance, z) > 0
  THEN (_ratio_middle(upper, lower, covariance, z) - _ratio_root(upper, lower, upper_variance, covariance, lower_variance, z)) / _ratio_square(lower, lower_variance, z) END;
CREATE MACRO _ratio_high(upper, lower, upper_variance, covariance, lower_variance, z) AS
CASE WHEN _ratio_square(lower, lower_variance, z) > 0
  THEN (_ratio_middle(upper, lower, covariance, z) + _ratio_root(upper, lower, upper_variance, covariance, lower_variance, z)) / _ratio_square(lower, lower_variance, z) END;
CREATE MACRO _ratio_square(lower, lower_variance, z) AS lower * lower - z * z * greatest(lower_variance, 0);
CREATE MACRO _ratio_middle(upper, lower, covariance, z) AS upper * lower - z * z * covariance;
CREATE MACRO _ratio_root(upper, lower, upper_variance, covariance, lower_variance, z) AS
sqrt(greatest(_ratio_middle(upper, lower, covariance, z) * _ratio_middle(upper, lower, covariance, z)
  - _ratio_square(lower, lower_variance, z) * (upper * upper - z * z * upper_variance), 0));

-- The interval of a smooth function of sums, by its derivatives: the delta method.
CREATE MACRO _delta_low(estimate, variance, z) AS estimate - z * sqrt(greatest(variance, 0));
CREATE MACRO _delta_high(estimate, variance, z) AS estimate + z * sqrt(greatest(variance, 0));
