"""SQLite: every function the library brings; a file cannot bring any, so nothing else exists."""

from plugbay_scheduled_query.core.guard.calls import STANDARD, functions

HARMLESS = """
acosh asinh atanh bm25 ceil changes char concat cosh date datetime floor format fts5_source_id
geopoly_area geopoly_bbox geopoly_blob geopoly_ccw geopoly_contains_point geopoly_debug geopoly_group_bbox
geopoly_json geopoly_overlap geopoly_regular geopoly_svg geopoly_within geopoly_xform generate_series glob
group_concat hex highlight if iif instr json json_array json_array_insert json_array_length json_each
json_error_position json_extract json_group_array json_group_object json_insert json_object json_patch
json_pretty json_quote json_remove json_replace json_set json_tree json_type json_valid jsonb jsonb_array
jsonb_array_insert jsonb_each jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert jsonb_object
jsonb_patch jsonb_remove jsonb_replace jsonb_set jsonb_tree julianday last_insert_rowid like likelihood
likely matchinfo median offsets percentile pragma_collation_list pragma_compile_options
pragma_foreign_key_check pragma_foreign_key_list pragma_freelist_count pragma_function_list
pragma_index_info pragma_index_list pragma_index_xinfo pragma_integrity_check pragma_module_list
pragma_page_count pragma_page_size pragma_pragma_list pragma_quick_check pragma_schema_version
pragma_table_info pragma_table_list pragma_table_xinfo pragma_user_version printf quote random randomblob
regexp rtreecheck rtreedepth rtreenode sinh snippet soundex sqlite_compileoption_get
sqlite_compileoption_used sqlite_offset sqlite_source_id sqlite_version strftime subtype tanh time
timediff total total_changes trunc typeof unhex unicode unistr unistr_quote unixepoch unlikely zeroblob
"""

DANGEROUS = {
    "it loads code from a file into the process": "load_extension",
    "it hands out or takes memory addresses": "fts3_tokenizer fts5",
    "it rewrites a full-text index": "optimize",
    "it writes to the error log": "sqlite_log",
    "it reads or writes files": "readfile writefile edit fsdir lsdir lsmode zipfile* sqlar_* csv",
    "it runs SQL given as text": "eval",
    "it can change a setting of the database": "pragma_*",
    "it reaches below the tables": "sqlite_dbpage sqlite_dbdata sqlite_dbptr bytecode tables_used",
    "it reaches into the running process": "uri_* remember wholenumber icu_load_collation spellfix1*",
}

SQLITE = functions(STANDARD + HARMLESS, DANGEROUS)
