"""`make test` leaves no question to `make test-rest`: of every test that has further cases there it runs one."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from cedilla.compiler.operators import OPERATORS
from cedilla.compiler.plan.formats import SOURCES
from tests.kit import ROOT
from tests.kit.accents import CHANGES
from tests.kit.tiers import QUICK, TIERS
from tests.laws.worlds import ALL

DEAR = {
    "tests/compiler/codegen/test_foreign_text.py::test_constants_of_programs_mean_their_texts",
    "tests/compiler/expressions/units/test_answers.py::test_a_question_about_a_unit_that_only_kept_answers_have_named",
    "tests/compiler/expressions/units/test_answers.py::test_a_second_process_has_the_answers_of_the_first_and_loads_no_pint",
    "tests/compiler/expressions/units/test_kinds.py::test_the_order_in_which_names_are_read_changes_nothing",
    "tests/compiler/expressions/units/test_ucum.py::test_codes_with_prefixes_mean_what_ucum_says",
    "tests/compiler/expressions/units/test_units.py::test_a_query_without_units_does_not_load_pint",
    "tests/compiler/facts/test_seed_formulas.py::test_e2_initial_is_a_down_set_of_the_order",
    "tests/compiler/operators/test_rules.py::test_closed_regions_are_kept_and_no_lists",
    "tests/compiler/regions/test_regions.py::test_a_point_within_a_box_costs_the_same_too",
    "tests/compiler/regions/test_regions.py::test_describing_one_more_point_costs_the_same_however_many_there_are",
    "tests/compiler/test_large_queries.py::test_a_thousand_terms_are_one_condition",
    "tests/compiler/test_large_queries.py::test_ways_that_meet_again_are_followed_once",
    "tests/docs/test_notebooks.py::test_a_notebook_runs",
    "tests/docs/test_playground.py::test_a_link_replaces_no_module",
    "tests/docs/test_playground.py::test_the_archive_answers_with_nothing_else_installed",
    "tests/docs/test_prose.py::test_few_messages_have_a_phrase_to_decode",
    "tests/laws/test_growth.py::test_groups_without_tuples_of_a_new_member_do_not_depend_on_the_cut",
    "tests/laws/test_reference.py::test_plans_with_groups_that_no_tuple_came_to_keep_the_laws",
    "tests/laws/test_sail.py::test_random_plans_with_groups_that_no_tuple_came_to_keep_the_laws",
    "tests/runtime/connectors/formats/test_csv.py::test_light_commands_start_no_spark",
    "tests/runtime/connectors/formats/test_csv.py::test_run_ends_there_with_the_same_words",
    "tests/runtime/connectors/formats/test_csv_batches.py::test_records_end_where_they_end_however_a_file_is_cut",
    "tests/runtime/connectors/formats/test_file_sums.py::test_the_driver_of_a_cluster_reads_nothing_of_what_tasks_have_written",
    "tests/runtime/connectors/formats/test_files.py::test_a_task_that_finds_it_is_told_in_the_same_words",
    "tests/runtime/connectors/formats/test_files.py::test_a_value_is_the_same_for_all_readers",
    "tests/runtime/connectors/formats/test_footers.py::test_types_are_those_that_spark_reads",
    "tests/runtime/connectors/formats/test_parquet.py::test_arrays_and_tasks_of_a_write",
    "tests/runtime/connectors/formats/test_parquet.py::test_files_of_one_folder_may_differ_in_columns_and_types",
    "tests/runtime/connectors/formats/test_parquet.py::test_pruned_columns_and_pushed_filters_reach_the_scan",
    "tests/runtime/connectors/formats/test_parquet.py::test_tasks_read_what_spark_reads",
    "tests/runtime/connectors/storage/test_delta_store.py::test_versions_are_read_once",
    "tests/runtime/connectors/storage/test_epochs_in_stores.py::test_a_run_that_dies_at_each_change_gives_what_an_undisturbed_run_gives",
    "tests/runtime/connectors/storage/test_epochs_in_stores.py::test_the_requests_of_an_epoch",
    "tests/runtime/connectors/storage/test_iceberg_store.py::test_a_table_in_a_store_is_read_by_its_folder",
    "tests/runtime/connectors/topics/test_batch_client.py::test_files_have_the_same_records_of_a_topic",
    "tests/runtime/connectors/topics/test_batch_client.py::test_records_that_are_deleted_before_they_are_fetched_are_a_gap",
    "tests/runtime/connectors/topics/test_topics.py::test_the_process_ends_with_a_run_that_is_killed",
    "tests/runtime/connectors/topics/test_updated_topics.py::test_a_key_of_one_attribute_is_its_value",
    "tests/runtime/connectors/topics/test_updated_topics.py::test_records_have_the_key_of_their_group",
    "tests/runtime/control/accents/test_bent.py::test_an_accent_for_one_device_costs_the_same_after_many",
    "tests/runtime/control/accents/test_bent.py::test_shifts_add_up_by_group",
    "tests/runtime/control/accents/test_many_accents.py::test_all_epochs_come_out_as_they_mean",
    "tests/runtime/control/accents/test_many_attributes.py::test_a_marker_by_hundreds_of_attributes_is_refused",
    "tests/runtime/control/accents/test_many_attributes.py::test_one_function_by_forty_attributes_takes_a_moment",
    "tests/runtime/control/accents/test_said_units.py::test_where_no_unit_is_known_it_is_taken_as_said",
    "tests/runtime/control/accents/test_two_units.py::test_three_units_and_an_accent_meet_on_an_engine",
    "tests/runtime/control/change_detection/test_suspect_run.py::test_an_epoch_of_many_tuples_gives_the_driver_few_rows",
    "tests/runtime/control/change_detection/test_suspect_run.py::test_the_accent_is_in_the_units_in_force",
    "tests/runtime/control/change_detection/test_suspect_run.py::test_what_goes_back_is_a_note_and_the_accent_says_all_that_is_not_announced",
    "tests/runtime/engines/plain/test_casts.py::test_engines_take_the_texts_that_the_reference_takes",
    "tests/runtime/engines/plain/test_function_sweep.py::test_a_sample_of_calls_and_values",
    "tests/runtime/engines/plain/test_scalars.py::test_a_query_computes_across_alters_and_a_drop_of_what_is_optional",
    "tests/runtime/engines/plain/test_scalars.py::test_an_alter_that_makes_a_double_of_a_whole_number_changes_nothing",
    "tests/runtime/engines/plain/test_scalars.py::test_spark_agrees_with_types_and_values",
    "tests/runtime/engines/spark/test_columns.py::test_no_epoch_asks_the_engine_for_columns",
    "tests/runtime/engines/spark/test_engines.py::test_a_checkpoint_goes_from_engine_to_engine",
    "tests/runtime/engines/spark/test_engines.py::test_no_job_counts_what_is_valid",
    "tests/runtime/engines/spark/test_engines.py::test_parquet_in_and_out_on_sail",
    "tests/runtime/engines/spark/test_engines.py::test_what_is_sorted_is_written_so",
    "tests/runtime/engines/spark/test_java_messages.py::test_a_child_writes_through_the_filter_for_all_its_life",
    "tests/runtime/engines/spark/test_lookups.py::test_a_server_has_points_once_and_those_of_late_as_long_as_epochs_may_ask_for_them",
    "tests/runtime/engines/spark/test_lookups.py::test_a_table_is_kept_while_its_tree_changes_at_few_points",
    "tests/runtime/engines/spark/test_sail.py::test_a_session_survives_hours_without_work",
    "tests/runtime/engines/spark/test_sail.py::test_the_engine_starts_and_stops_more_than_once_and_leaves_no_mode_behind",
    "tests/runtime/engines/spark/test_workers.py::test_machines_say_what_they_have_and_which_folders_they_see",
    "tests/runtime/engines/spark/test_workers.py::test_workers_that_lack_something_end_the_query_with_a_message",
    "tests/runtime/epochs/checkpoint/test_integrity.py::test_a_full_disk_is_a_coded_error_and_the_next_run_goes_on",
    "tests/runtime/epochs/checkpoint/test_integrity.py::test_every_damage_to_a_file_that_a_run_needs_is_found",
    "tests/runtime/epochs/checkpoint/test_integrity.py::test_files_of_outputs_are_not_checked",
    "tests/runtime/epochs/checkpoint/test_journal.py::test_a_journal_goes_on_after_a_restart_and_stays_small",
    "tests/runtime/epochs/checkpoint/test_ownership.py::test_of_two_runs_at_once_one_is_refused_and_no_row_is_lost",
    "tests/runtime/epochs/checkpoint/test_plan.py::test_rows_of_a_member_that_is_gone_are_left_out_above_and_carried_values_stay",
    "tests/runtime/epochs/ingest/test_file_statistics.py::test_a_vouched_file_is_read_in_the_needed_columns_and_not_counted",
    "tests/runtime/epochs/ingest/test_limits.py::test_a_file_of_csv_without_line_ends_is_not_held_in_memory",
    "tests/runtime/epochs/ingest/test_limits.py::test_a_longer_line_than_usual_is_read_by_a_setting",
    "tests/runtime/epochs/ingest/test_limits.py::test_accents_on_ranges_cost_what_their_pieces_cost",
    "tests/runtime/epochs/ingest/test_limits.py::test_five_hundred_new_fields_of_one_line_are_inferred",
    "tests/runtime/epochs/ingest/test_limits.py::test_lines_without_end_leave_the_others_alone",
    "tests/runtime/epochs/operators/test_aggregates.py::test_a_drop_waits_for_every_group_that_has_the_attribute",
    "tests/runtime/epochs/operators/test_aggregates.py::test_every_function_of_no_tuple",
    "tests/runtime/epochs/operators/test_aggregates.py::test_every_function_over_overlapping_windows_by_their_panes",
    "tests/runtime/epochs/operators/test_sets.py::test_sets_and_bags_are_those_of_the_decoded_inputs",
    "tests/runtime/epochs/options/test_permissions.py::test_colours_of_explain_are_its_own",
    "tests/runtime/epochs/options/test_permissions.py::test_files_beside_a_query_shadow_no_module_but_the_one_named",
    "tests/runtime/epochs/options/test_permissions.py::test_nothing_that_a_stream_or_a_query_says_moves_the_terminal",
    "tests/runtime/epochs/pipeline/test_in_flight.py::test_memory_is_given_back",
    "tests/runtime/epochs/pipeline/test_policy_of_changes.py::test_the_command_asks_at_a_terminal",
    "tests/runtime/epochs/pipeline/test_sensors.py::test_any_described_subset_may_change",
    "tests/runtime/epochs/pipeline/test_spark_tables.py::test_a_rename_of_spark_needs_no_accent",
    "tests/runtime/epochs/pipeline/test_spark_tables.py::test_a_table_of_the_first_version_with_partitions",
    "tests/runtime/epochs/pipeline/test_spark_tables.py::test_delete_files_end_the_query",
    "tests/runtime/epochs/pipeline/test_spark_tables.py::test_expired_snapshots_of_the_java_library",
    "tests/runtime/epochs/pipeline/test_spark_tables.py::test_partitions_of_spark_by_field_id",
    "tests/runtime/epochs/pipeline/test_spark_tables.py::test_snapshots_of_the_java_library",
    "tests/runtime/epochs/pipeline/test_stopping.py::test_a_run_that_waits_for_files_ends_at_once",
    "tests/runtime/epochs/pipeline/test_stopping.py::test_a_signal_ends_a_run_at_the_end_of_its_epoch",
    "tests/runtime/epochs/state/test_state.py::test_runs_that_continue_with_large_segments_give_what_one_epoch_gives",
    "tests/runtime/epochs/state/test_state.py::test_segments_without_the_keys_of_an_epoch_are_not_read",
    "tests/runtime/epochs/state/test_state.py::test_what_is_wholly_closed_is_forgotten_unread",
    "tests/runtime/hosts/cli/test_cli.py::test_a_program_whose_query_was_edited_names_the_argument_and_the_text_that_does_it",
    "tests/runtime/hosts/cli/test_cli.py::test_a_run_whose_caller_has_closed_its_streams",
    "tests/runtime/hosts/cli/test_cli_tools.py::test_a_check_and_a_plan_load_no_pint_again_and_markers_for_stated_accents_only",
    "tests/runtime/hosts/cli/test_learning.py::test_pytest_runs_the_same_pages",
    "tests/runtime/hosts/embedding/test_batches.py::test_batches_count_once_whatever_is_repeated",
    "tests/runtime/hosts/terminal/test_run_console.py::test_a_run_that_a_marker_ends_logs_objects_and_calls_its_hook",
    "tests/runtime/hosts/ui/test_app.py::test_metrics_of_a_free_port_have_its_number",
    "tests/runtime/hosts/ui/test_browser.py::test_very_many_accents_in_force_are_shown_in_part",
    "tests/runtime/hosts/ui/test_foreign_text.py::test_the_page_shows_texts_and_runs_none",
    "tests/runtime/hosts/ui/test_requests.py::test_every_method_has_an_answer_with_the_policy",
    "tests/runtime/hosts/ui/test_requests.py::test_foreign_texts_in_a_question_get_problems_with_codes",
    "tests/runtime/hosts/ui/test_stores.py::test_the_model_and_the_status_are_those_of_a_copy_on_this_machine",
    "tests/runtime/tools/produce/test_produce.py::test_it_needs_neither_pyspark_nor_arrow",
    "tests/runtime/tools/stream_tools/test_canonize.py::test_a_canonical_stream_says_what_the_stream_said",
    "tests/runtime/tools/stream_tools/test_canonize.py::test_ten_thousand_items",
    "tests/runtime/tools/stream_tools/test_canonize.py::test_the_plain_decoder_agrees_where_nothing_altered_comes_back",
    "tests/runtime/tools/stream_tools/test_suspect.py::test_what_tells_groups_apart_is_looked_for",
    "tests/test_benchmarks.py::test_a_fork_does_not_count_as_memory",
}
"""They take two to twenty seconds each, and `make test` has six minutes: `make test-rest` asks them."""
WHOLLY_IN_REST = {
    # Whole runs; `make test` asks the same of `Arrivals` alone (`test_recognition.py`).
    "tests/runtime/epochs/checkpoint/test_faults.py::test_whatever_a_producer_does_to_files_each_row_is_read_once_or_a_code_is_said",
    # Each place for itself, once and again and again; `make test` dies at one after the other.
    "tests/runtime/epochs/checkpoint/test_recovery.py::test_death_in_any_epoch_changes_nothing",
    # It starts Spark in processes of their own and kills them; `make test` kills runs on Sail.
    "tests/runtime/epochs/checkpoint/test_recovery.py::test_a_killed_process_continues_where_it_was",
    # Every operator on Spark; `make test` has the same on Sail.
    "tests/runtime/engines/plain/test_edge_values.py::test_spark_gives_what_the_reference_gives_for_every_value",
    # Processes that are killed or damaged again and again; `make test` kills runs on Sail, and damages files of one.
    "tests/runtime/epochs/checkpoint/test_faults.py::test_killed_again_and_again_it_gives_what_an_undisturbed_run_gives",
    "tests/runtime/epochs/checkpoint/test_faults.py::test_a_damaged_file_is_a_code_before_anything_is_written_or_changes_nothing",
    # Processes of their own; `make test` has two runs at once, a full disk and lines of every kind in one.
    "tests/runtime/epochs/checkpoint/test_faults.py::test_of_two_runs_at_once_one_is_refused_and_nothing_is_lost",
    "tests/runtime/epochs/checkpoint/test_faults.py::test_a_full_disk_is_a_code_and_the_next_run_goes_on",
    "tests/runtime/epochs/checkpoint/test_faults.py::test_what_a_hostile_producer_sends_is_set_aside_or_a_code",
    # Large states and other names: `make test` has the drop that waits in a large state, and joins by both names.
    "tests/runtime/epochs/operators/test_joins.py::test_joins_on_two_names_and_with_itself",
    "tests/runtime/epochs/operators/test_joins.py::test_large_states_give_what_small_ones_give",
    # It starts Java three times; `make test` runs on such an archive.
    "tests/runtime/epochs/pipeline/test_class_archive.py::test_spark_starts_from_an_archive_and_without_it",
    # It starts Sail in a process of its own, and a hundred and fifty others from there.
    "tests/runtime/engines/spark/test_sail.py::test_children_that_the_process_forks_live",
    # It starts Spark twice in processes of their own; `make test` reads and writes such tables on Sail.
    "tests/runtime/connectors/storage/test_delta_store.py::test_spark_reads_and_writes_them_without_clients_of_its_own",
    # Streams and data sources are Spark's alone; `make test` calls what they call.
    "tests/runtime/hosts/embedding/test_batches.py::test_a_stream_of_spark_gives_its_batches",
    "tests/runtime/hosts/embedding/test_data_source.py::test_spark_reads_an_output_by_its_format",
    "tests/runtime/hosts/embedding/test_data_source.py::test_a_declarative_pipeline_reads_an_output",
    # Eight processes, two with Sail; `make test` compiles the queries of the page, and runs what `cedilla init` writes.
    "tests/docs/test_start.py::test_a_first_reader_has_an_own_query_with_a_changed_unit",
    # On an engine; `make test` asks the same of the reference, and of engines with other laws.
    "tests/laws/test_changes_together.py::test_an_engine_reads_what_a_sender_has_meant",
    # They wait until a run dies or a process grows; `make test` has pages of runs that go on, and a run that ends at
    # its limit of memory.
    "tests/runtime/hosts/ui/test_browser.py::test_a_page_stays_while_a_run_dies_and_comes_back",
    "tests/runtime/engines/spark/test_engines.py::test_a_process_that_has_grown_too_much_is_replaced_by_a_new_one",
    # It starts a process for its first message; `make test` asks everything else of the server of its own process.
    "tests/runtime/hosts/language_server/test_hostile_editor.py::test_a_question_before_the_first_one_is_refused",
    # Every operator by pairs of names on Sail; `make test` has a few operators on Spark.
    "tests/runtime/epochs/operators/test_twin_names.py::test_twins_are_apart_on_the_embedded_engine",
    # It starts the engines to plan an epoch; `make test` compares what is shown of a plan.
    "tests/runtime/hosts/cli/test_cli_tools.py::test_the_plan_is_of_the_engine_that_is_named",
    # Each of its runs looks into files again; `make test` reads rows again without a domain that grows.
    "tests/runtime/tools/inspect/test_replayed_rows.py::test_a_row_is_read_once_its_domain_has_grown",
    # It measures memory in a process of its own.
    "tests/runtime/tools/stream_tools/test_suspect.py::test_memory_does_not_grow_with_the_stream",
    # Further cases of laws, by names that `make soak` has, too; `make test` has some cases of each.
    "tests/laws/test_reference.py::test_plans_keep_the_laws_in_further_cases",
    "tests/laws/test_certain.py::test_certain_answers_in_further_cases",
    # It starts pytest five times, and asks about these tests, not about Cedilla.
    "tests/test_tiers.py::test_a_law_tries_other_cases_with_a_seed_that_is_given",
    # Without accents, and on Spark: as its SQL, as a job by hand; and the generator of a benchmark in its other format.
    "tests/test_nexmark.py::test_query",
    "tests/test_nexmark.py::test_columns_of_a_result",
    "tests/test_nexmark.py::test_parquet_has_the_same_tuples",
    # A broker and four processes; an environment of its own, whose requirements `make test` compares.
    "tests/test_compose.py::test_the_right_line_stays_and_the_wrong_one_falls",
    # A broker from packages, and the bridge as a process; `make test` has the bridge with a broker of its own making.
    "tests/test_mqtt.py::test_a_unit_changes_while_a_bridge_runs_is_away_and_is_killed",
    "tests/test_mqtt.py::test_what_a_broker_sends_again_is_not_written_twice",
    "tests/test_mqtt.py::test_a_broker_that_refuses_ends_the_bridge",
    # A server of PostgreSQL and Debezium; `make test` reads what they wrote.
    "tests/test_cdc.py::test_a_renamed_column_of_a_real_database_loses_no_value",
    # Whole projects, each by commands in processes of their own; `make test` has each command and its parts.
    "tests/test_first_hour.py::test_a_lake_of_parquet_drops",
    "tests/test_first_hour.py::test_two_hundred_plugs",
    "tests/test_first_hour.py::test_metrics_of_two_services",
    "tests/test_first_hour.py::test_an_evaluation",
    # Runs and browsers at three widths; `make test` compares the models that these pages show.
    "tests/runtime/hosts/ui/test_fleet.py::test_cards_keep_their_own_height",
    "tests/runtime/hosts/ui/test_fleet.py::test_own_units_rows_of_parquet_and_times_are_shown_as_people_write_them",
    "tests/runtime/hosts/ui/test_fleet.py::test_the_page_of_5000_devices_is_small",
    # Commands of pages in processes of their own; `make test` has their options, and the same calls in one process.
    "tests/docs/test_commands.py::test_the_commands_of_a_page_run_as_they_are_printed",
    "tests/docs/test_architecture.py::test_the_epoch_that_is_followed_leaves_the_state_that_the_page_says",
    "tests/test_light.py::test_a_query_is_checked_simulated_and_run_without_spark",
}
OF_SERVERS = tuple(
    f"tests/runtime/{name}.py::"
    for name in (
        "epochs/pipeline/test_cluster",
        "engines/spark/test_connect",
        "engines/spark/test_remote",
        "connectors/topics/test_broken_topics",
        "connectors/topics/test_avro_topics",
        "connectors/topics/test_change_event_topics",
        "connectors/topics/test_kafka",
        "connectors/topics/test_kafka_fields",
        "connectors/topics/test_real_serializers",
        "connectors/topics/test_unknown_schemas",
        "connectors/topics/test_topic_tools",
    )
)
"""They start a cluster or a server each; `make test` has Spark and Sail here, files, and what workers have."""
OF_EACH = {
    "tests/docs/test_examples.py::test_every_example_of_an_operator_does_what_its_page_says": [
        operator.__name__ for operator in OPERATORS
    ],
    "tests/laws/test_reference.py::test_every_operator_keeps_the_laws": [*ALL, "complete"],
}
"""Tests with a case for each operator."""
EACH_KIND = "tests/runtime/test_each_kind.py::"
IN_QUICK = {
    "tests/docs/test_examples.py::test_every_example_of_an_operator_does_what_its_page_says": OPERATORS,
    f"{EACH_KIND}test_a_tuple_after_an_accent_has_its_canonical_values": CHANGES,
    f"{EACH_KIND}test_a_format_brings_tuples_after_an_accent": [n for n in SOURCES if "kafka" not in n],
}
"""The runs of `make quick`: a case for each of these kinds. Topics need a broker, which is written in Java."""


def test_every_question_is_asked_by_make_test(request: pytest.FixtureRequest) -> None:
    cases: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name, tier in request.config.stash[TIERS].items():
        test, _, case = name.partition("[")
        case = case.removesuffix("]").removeprefix("sail-").removeprefix("spark-")
        if tier == "test" or case not in cases[test]:
            cases[test][case] = tier
    left = {
        test for test, tiers in cases.items() if "rest" in tiers.values() and "test" not in tiers.values()
    }
    assert {test for test in left if not test.startswith(OF_SERVERS)} <= WHOLLY_IN_REST | DEAR
    for test, names in OF_EACH.items():
        if test in cases:
            assert {name for name, tier in cases[test].items() if tier == "test"} == set(names)


@pytest.mark.quick
def test_make_quick_has_a_run_of_each_kind(request: pytest.FixtureRequest) -> None:
    """Its other tests are those of grammar and compiler, and examples of docstrings."""
    quick, folders = request.config.stash[QUICK], ("tests/grammar/", "tests/compiler/")
    runs = {name for name in quick if not name.startswith(folders) and "[sail-" in name}
    assert runs <= {
        f"{test}[sail-{getattr(kind, '__name__', kind)}]"
        for test, kinds in IN_QUICK.items()
        for kind in kinds
    }
    for test, kinds in IN_QUICK.items():
        if any(name.startswith(test) for name in request.config.stash[TIERS]):
            assert {f"{test}[sail-{getattr(kind, '__name__', kind)}]" for kind in kinds} <= quick


LAW = """
from hypothesis import given, strategies as st
from tests.kit.strategies import LIGHT

tried = []

@LIGHT
@given(st.integers())
def test_law(number):
    tried.append(number)

def test_cases():
    print("cases:", tried)
"""


@pytest.mark.rest
def test_a_law_tries_other_cases_with_a_seed_that_is_given(tmp_path: Path) -> None:
    (tmp_path / "test_law.py").write_text(LAW, "utf-8")

    def cases(*seed: str) -> str:
        command = [sys.executable, "-m", "pytest", "-s", "-p", "tests.conftest", *seed]
        folder = ["--rootdir", str(tmp_path), str(tmp_path)]
        done = subprocess.run([*command, *folder], cwd=ROOT, capture_output=True, text=True, check=True)
        return next(line for line in done.stdout.splitlines() if "cases: [" in line)

    seven, always = cases("--hypothesis-seed", "7"), cases()
    assert cases("--hypothesis-seed", "7") == seven
    assert cases() == always
    assert len({seven, cases("--hypothesis-seed", "8"), always}) == 3
