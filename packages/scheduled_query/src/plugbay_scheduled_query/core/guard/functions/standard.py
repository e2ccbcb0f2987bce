"""Functions that mean the same, and do no harm, in every database that has them."""

STANDARD = """
abs acos asin atan atan2 avg cast ceil ceiling char_length character_length coalesce concat concat_ws corr
cos cot count covar_pop covar_samp cume_dist current_date current_time current_timestamp degrees
dense_rank exp extract first_value floor greatest grouping ifnull lag last_value lead least left length ln
localtime localtimestamp log log10 log2 lower lpad ltrim max min mod nth_value ntile nullif octet_length
overlay percent_rank percentile_cont percentile_disc pi position pow power radians rank regr_avgx
regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy replace reverse right
round row row_number rpad rtrim sign sin sqrt stddev stddev_pop stddev_samp string_agg substr substring
sum tan translate trim try_cast upper var_pop var_samp variance
"""
