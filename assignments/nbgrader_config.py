"Settings of nbgrader for the problem sets: see make.py."
c = get_config()  # noqa: F821
c.CourseDirectory.course_id = 'extreme_opt'
