"""DuckDB: the functions it brings that neither touch files or the network nor change settings."""

from plugbay_scheduled_query.core.guard.calls import STANDARD, functions

NUMBERS = """
acosh add asinh atanh bar base64 bin bit_count bit_length bit_position bitstring cbrt cosh divide even
factorial fdiv fmod gamma gcd get_bit greatest_common_divisor hash isfinite isinf isnan lcm
least_common_multiple lgamma multiply nextafter product random round_even roundbankers set_bit signbit
sinh subtract tanh to_base trunc xor
"""

TEXTS = """
array_extract ascii chr concat contains damerau_levenshtein decode editdist3 encode ends_with format
formatreadabledecimalsize formatreadablesize format_bytes from_base64 from_binary from_hex hamming hex
instr jaccard jaro_similarity jaro_winkler_similarity lcase left_grapheme len length_grapheme levenshtein
like_escape ilike_escape md5 md5_number md5_number_lower md5_number_upper mismatches nfc_normalize
not_ilike_escape not_like_escape ord parse_dirname parse_dirpath parse_filename parse_formatted_bytes
parse_path path_join prefix printf regexp_escape regexp_extract regexp_extract_all regexp_full_match
regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table repeat right_grapheme sha1
sha256 split split_part starts_with str_split str_split_regex string_split string_split_regex
string_to_array strip_accents strlen strpos substring_grapheme suffix to_base64 to_binary to_hex ucase
unbin unhex unicode url_decode url_encode uuid
"""

TIMES = """
age ago century current_localtime current_localtimestamp date date_add date_diff date_part date_sub
date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear days_in_month
decade epoch epoch_ms epoch_ns epoch_us era get_current_time get_current_timestamp hour interval isodow
isoyear julian last_day make_date make_interval make_time make_timestamp make_timestamp_ms
make_timestamp_ns make_timestamptz microsecond millennium millisecond minute month monthname nanosecond
normalized_interval now quarter second strftime strptime time time_bucket timestamp timezone timezone_hour
timezone_minute to_centuries to_days to_decades to_hours to_microseconds to_millennia to_milliseconds
to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years today transaction_timestamp
try_strptime week weekday weekofyear year yearweek
"""

NESTED = """
aggregate apply array array_agg array_aggr array_aggregate array_append array_apply array_cat array_concat
array_contains array_cosine_distance array_cosine_similarity array_cross_product array_distance
array_distinct array_dot_product array_filter array_grade_up array_has array_has_all array_has_any
array_indexof array_inner_product array_intersect array_length array_negative_dot_product
array_negative_inner_product array_pop_back array_pop_front array_position array_prepend array_push_back
array_push_front array_reduce array_resize array_reverse array_reverse_sort array_select array_slice
array_sort array_to_json array_to_string array_to_string_comma_default array_transform array_unique
array_value array_where array_zip cardinality element_at enum_code enum_first enum_last enum_range
enum_range_boundary filter flatten generate_series generate_subscripts grade_up list list_aggr
list_aggregate list_any_value list_append list_apply list_approx_count_distinct list_avg list_bit_and
list_bit_or list_bit_xor list_bool_and list_bool_or list_cat list_concat list_contains
list_cosine_distance list_cosine_similarity list_count list_distance list_distinct list_dot_product
list_element list_entropy list_extract list_filter list_first list_grade_up list_has list_has_all
list_has_any list_histogram list_indexof list_inner_product list_intersect list_kurtosis list_kurtosis_pop
list_last list_mad list_max list_median list_min list_mode list_negative_dot_product
list_negative_inner_product list_pack list_position list_prepend list_product list_reduce list_resize
list_reverse list_reverse_sort list_select list_sem list_skewness list_slice list_sort list_stddev_pop
list_stddev_samp list_string_agg list_sum list_transform list_unique list_value list_var_pop list_var_samp
list_where list_zip map map_concat map_contains map_contains_entry map_contains_value map_entries
map_extract map_extract_value map_from_entries map_keys map_values range reduce repeat_row struct
struct_concat struct_contains struct_extract struct_extract_at struct_has struct_indexof struct_insert
struct_keys struct_pack struct_position struct_update struct_values union_extract union_tag union_value
unnest variant_array_length variant_contains variant_exists variant_extract variant_extract_string
variant_keys variant_type variant_typeof
"""

JSON = """
from_json from_json_strict json json_array json_array_length json_contains json_deep_merge json_each
json_exists json_extract json_extract_path json_extract_path_text json_extract_string json_group_array
json_group_object json_group_structure json_insert json_keys json_merge_patch json_merge_patch_diff
json_normalize json_object json_pretty json_quote json_remove json_replace json_set json_strip_nulls
json_structure json_transform json_transform_strict json_tree json_type json_valid json_value row_to_json
to_json
"""

AGGREGATES = """
any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null
arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin bit_and bit_or bit_xor
bitstring_agg bool_and bool_or count_if count_star countif decimal_average entropy equi_width_bins favg
fill first fsum geomean geometric_mean group_concat histogram histogram_exact kahan_sum kurtosis
kurtosis_pop last listagg lttb mad max_by mean median min_by mode quantile quantile_cont quantile_disc
rank_dense reservoir_quantile sem skewness sum_no_overflow sumkahan summary variant_group_array
variant_group_object wavg weighted_avg
"""

SESSION = """
alias can_cast_implicitly col_description collations columns constant_or_null current_catalog
current_database current_query current_role current_schema current_schemas current_setting current_user
error format_type gen_random_uuid get_block_size get_type getvariable grouping_id has_any_column_privilege
has_column_privilege has_database_privilege has_schema_privilege has_table_privilege if in_search_path
obj_description pg_conf_load_time pg_get_constraintdef pg_get_expr pg_get_viewdef pg_has_role
pg_postmaster_start_time pg_size_pretty pg_table_is_visible pg_timezone_names pg_type_is_visible pg_typeof
session_user shobj_description try txid_current typeof user uuid_extract_timestamp
uuid_extract_version uuidv4 uuidv7 version icu_calendar_names duckdb_approx_database_count duckdb_columns
duckdb_constraints duckdb_dependencies duckdb_extensions duckdb_functions duckdb_indexes
duckdb_keywords duckdb_memory duckdb_optimizers duckdb_schemas duckdb_sequences duckdb_settings
duckdb_table_sample duckdb_tables duckdb_types duckdb_variables duckdb_views pragma_collations
pragma_database_size pragma_metadata_info pragma_platform pragma_show pragma_storage_info
pragma_table_info pragma_user_agent pragma_version st_asbinary st_asgeojson st_astext st_aswkb st_aswkt
st_crs st_geomfromgeojson st_geomfromwkb st_intersects_extent st_area st_centroid st_contains st_distance
st_distance_sphere st_geomfromtext st_intersects st_length st_point st_within st_x st_y
"""

DANGEROUS = {
    "it reads files or addresses of the network": """
        read_* *_scan *_scan_* scan_* parquet_* sniff_* glob st_read* st_drivers *_attach load_*
        which_secret excel_*
    """,
    "it reaches over the network or to another database": """
        http_* *_http* iceberg_* delta_* postgres_* mysql_* sqlite_* bigquery_* s3_*
    """,
    "it runs SQL given as text": """
        query query_table json_execute_serialized_sql json_serialize_* json_deserialize_sql from_substrait*
        get_substrait* python_map_function histogram_values eval
    """,
    "it changes a sequence or the state of the session": "nextval currval setval setseed",
    "it changes files or settings": """
        checkpoint force_checkpoint enable_* disable_* truncate_* write_log add_parquet_key copy_* import_*
        create_* register_* deregister_* destroy_* set_* start_* stop_*
    """,
    "it waits on purpose": "sleep* pg_sleep",
    "it shows secrets or the inside of the service": """
        getenv duckdb_secret* duckdb_log* duckdb_external_* duckdb_prepared_statements duckdb_temporary_files
    """,
    "it tells where files of the server lie": "duckdb_databases pragma_database_list",
    "it is meant for the inside of the database": "test_* __* stats vector_type icu_sort_key",
}

FUNCTIONS = functions(STANDARD + NUMBERS + TEXTS + TIMES + NESTED + JSON + AGGREGATES + SESSION, DANGEROUS)
