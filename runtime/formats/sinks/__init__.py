"""Where output goes: folders of files of each format, standard output, a function of the user's."""
