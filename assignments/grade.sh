#!/usr/bin/env bash
# Grade one problem set: bash grade.sh ps1_softmax. Submissions lie in submitted/STUDENT/ps1_softmax/ps1_softmax.ipynb.
set -eu
cd "$(dirname "$0")"
name=${1:?say which problem set: bash grade.sh ps1_softmax}
nbgrader autograde "$name" --create --CourseDirectory.course_id=extreme_opt
nbgrader export --to grades.csv
nbgrader generate_feedback "$name" --force
echo "grades.csv holds the marks; feedback/STUDENT/$name/$name.html goes back to the student once the written parts are marked (nbgrader formgrader)"
