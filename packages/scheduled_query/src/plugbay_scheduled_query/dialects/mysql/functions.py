"""MariaDB and MySQL: the functions of their manuals that only compute or look."""

from plugbay_scheduled_query.core.guard.calls import STANDARD, functions

NUMBERS = """
bin bit_and bit_count bit_or bit_xor conv crc32 crc32c format format_bytes format_pico_time median oct
rand std truncate
"""

TEXTS = """
aes_decrypt aes_encrypt ascii bin_to_uuid bit_length char chr compress convert decode des_decrypt
des_encrypt elt encode export_set field find_in_set from_base64 group_concat hex
insert instr lcase lengthb locate make_set md5 mid natural_sort_key old_password ord password quote
random_bytes regexp_instr regexp_like regexp_replace regexp_substr repeat sformat sha sha1 sha2 soundex
space strcmp substring_index to_base64 ucase uncompress uncompressed_length unhex uuid_to_bin
weight_string
"""

TIMES = """
add_months adddate addtime convert_tz curdate curtime date date_add date_format date_sub datediff day
dayname dayofmonth dayofweek dayofyear from_days from_unixtime get_format hour last_day makedate maketime
microsecond minute month monthname months_between now period_add period_diff quarter sec_to_time second
str_to_date subdate subtime sysdate time time_format time_to_sec timediff timestamp timestampadd
timestampdiff to_char to_date to_days to_number to_seconds trunc unix_timestamp utc_date utc_time
utc_timestamp week weekday weekofyear year yearweek
"""

JSON = """
column_check column_create column_add column_delete column_exists column_get column_json column_list
json_array json_array_append json_array_insert json_array_intersect json_arrayagg json_compact
json_contains json_contains_path json_depth json_detailed json_equals json_exists json_extract json_insert
json_key_value json_keys json_length json_loose json_merge json_merge_patch json_merge_preserve
json_normalize json_object json_object_filter_keys json_object_to_array json_objectagg json_overlaps
json_pretty json_query json_quote json_remove json_replace json_schema_valid json_schema_validation_report
json_search json_set json_storage_free json_storage_size json_table json_type json_unquote json_valid
json_value
"""

SESSION = """
any_value binary charset coercibility collation connection_id current_role current_user database
decode_histogram default found_rows if inet6_aton inet6_ntoa inet_aton inet_ntoa is_free_lock is_ipv4
is_ipv4_compat is_ipv4_mapped is_ipv6 is_used_lock is_uuid isnull lastval name_const nvl nvl2 row_count
rownum schema session_user statement_digest statement_digest_text sys_guid system_user user uuid
uuid_short uuid_v4 uuid_v7 value version extract_schema_from_file_name extract_table_from_file_name
format_path format_statement format_time quote_identifier version_major version_minor version_patch
vec_distance vec_distance_cosine vec_distance_euclidean vec_fromtext vec_totext wsrep_last_seen_gtid
wsrep_last_written_gtid
"""

SHAPES = """
area asbinary astext aswkb aswkt boundary buffer centroid contains convexhull crosses dimension disjoint
distance endpoint envelope equals exteriorring geomcollfromtext geomcollfromwkb geometrycollection
geometryfromtext geometryfromwkb geometryn geometrytype geomfromtext geomfromwkb glength interiorringn
intersects isclosed isempty isring issimple linefromtext linefromwkb linestring mbrcontains mbrcoveredby
mbrdisjoint mbrequal mbrequals mbrintersects mbroverlaps mbrtouches mbrwithin mlinefromtext mpointfromtext
mpolyfromtext multilinestring multipoint multipolygon numgeometries numinteriorrings numpoints overlaps
point pointfromtext pointfromwkb pointn pointonsurface polyfromtext polyfromwkb polygon srid st_area
st_asbinary st_asgeojson st_astext st_aswkb st_aswkt st_boundary st_buffer st_centroid st_collect
st_contains st_convexhull st_crosses st_difference st_dimension st_disjoint st_distance st_distance_sphere
st_endpoint st_envelope st_equals st_exteriorring st_geohash st_geomcollfromtext st_geometryfromtext
st_geometryn st_geometrytype st_geomfromgeojson st_geomfromtext st_geomfromwkb st_interiorringn
st_intersection st_intersects st_isclosed st_isempty st_isring st_issimple st_isvalid st_latfromgeohash
st_latitude st_length st_linefromtext st_longfromgeohash st_longitude st_numgeometries st_numinteriorrings
st_numpoints st_overlaps st_pointfromgeohash st_pointfromtext st_pointn st_pointonsurface st_polyfromtext
st_polygonfromtext st_relate st_simplify st_srid st_startpoint st_symdifference st_touches st_union
st_validate st_within st_x st_y startpoint touches within x y
"""

DANGEROUS = {
    "it reads files of the server": "load_file",
    "it waits or computes without end on purpose": "sleep benchmark",
    "it can work for hours and cannot be stopped": "extractvalue updatexml encrypt kdf",
    "it takes or frees locks": "get_lock release_lock release_all_locks service_*_lock*",
    "it waits for another server": "*_pos_wait *_gtid_wait wait_* wsrep_*",
    "it moves a sequence": "nextval setval",
    "it can change the state of the session": "last_insert_id",
    "it reaches out of the database": """
        sys_exec sys_eval sys_get sys_set lib_mysqludf* spider_* http_* udf_* exec*
    """,
    "it can change or reach into the server": """
        binlog_gtid_pos mroonga_* handlersocket* ps_* sys_get_config keyring_* audit_* group_replication_*
        asynchronous_* mysql_* version_tokens_* *_rewrite_rules firewall_* set_* gen_* mask_* masking_*
    """,
}

FUNCTIONS = functions(STANDARD + NUMBERS + TEXTS + TIMES + JSON + SESSION + SHAPES, DANGEROUS)
