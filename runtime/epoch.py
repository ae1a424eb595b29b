"""What programs import that Cedilla compiled before its modules lived in packages: they have to be compiled anew."""

from cedilla.grammar.diagnostics import failure

raise SystemExit(
    str(
        failure(
            "RQ415",
            "an older version of Cedilla compiled this program",
            hint="`cedilla compile` the `.rq` file again; its checkpoint goes on",
        )
    )
)
