"""Topics of Kafka: records are fetched into files of the checkpoint, where every engine reads them.

In: addresses of topics, offsets, a file with properties of the client. Out: files of records. Imports `records`,
`storage` and the settings of memory in `spark`.
"""
