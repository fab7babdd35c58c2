-- Estimates from a randomized release: the intervals around sums and ratios, and counts over its domain in pure SQL.
-- Every interval is centre - half, centre + half; zz is the square of the quantile, 3.84 for 95%.

-- The score interval of a sum: the values theta whose estimate is within z standard deviations, where the variance at
-- theta is variance + slope (theta - estimate). A variance estimated below 0 counts as 0.
CREATE MACRO _score_centre(estimate, slope, zz) AS estimate + zz * slope / 2;
CREATE MACRO _score_half(variance, slope, zz) AS sqrt(zz * (zz * slope * slope / 4 + greatest(variance, 0)));

-- How the variance grows with the sum: third moment over second, where there is a second.
CREATE MACRO _slope(third, second) AS CASE WHEN second > 0 THEN third / second ELSE 0 END;

-- Fieller's interval of the ratio of two sums: NULL when the lower one may be 0.
CREATE MACRO _ratio_centre(upper, lower, covariance, lower_variance, zz) AS
CASE WHEN _ratio_square(lower, lower_variance, zz) > 0
  THEN _ratio_middle(upper, lower, covariance, zz) / _ratio_square(lower, lower_variance, zz) END;
CREATE MACRO _ratio_half(upper, lower, upper_variance, covariance, lower_variance, zz) AS
CASE WHEN _ratio_square(lower, lower_variance, zz) > 0
  THEN sqrt(greatest(pow(_ratio_middle(upper, lower, covariance, zz), 2)
      - _ratio_square(lower, lower_variance, zz) * (upper * upper - zz * upper_variance), 0))
    / _ratio_square(lower, lower_variance, zz) END;
CREATE MACRO _ratio_square(lower, lower_variance, zz) AS (lower * lower - zz * greatest(lower_variance, 0));
CREATE MACRO _ratio_middle(upper, lower, covariance, zz) AS (upper * lower - zz * covariance);

-- Half the interval of a smooth function of sums, by its derivatives: the delta method.
CREATE MACRO _delta_half(variance, zz) AS sqrt(zz * greatest(variance, 0));
