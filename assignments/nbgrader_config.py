"Settings of nbgrader for the problem sets: see make.py."

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = 'extreme_opt'
c.Execute.timeout = 300  # seconds a cell: the first call of a solver compiles it
