"Write student and instructor versions of every problem set to build/course: `make course`."
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = Path(os.environ.get('EXTREME_OPT_COURSE') or HERE.parent/'build'/'course')

def make(name):
    "Cut the solutions out of one problem set with nbgrader; the instructor's copy keeps them."
    work = OUT/'work'
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(HERE/'source'/name, work/'source'/name)
    shutil.copy(HERE/'nbgrader_config.py', work)
    subprocess.run([sys.executable, '-m', 'nbgrader', 'generate_assignment', name, '--create', '--force'], cwd=work, check=True)
    for kind, made in dict(student='release', instructor='source').items():
        shutil.rmtree(OUT/kind/name, ignore_errors=True)
        shutil.copytree(work/made/name, OUT/kind/name)
    shutil.rmtree(work)

def main():
    "Make every problem set, or the ones named."
    names = sys.argv[1:] or sorted(folder.name for folder in (HERE/'source').glob('ps*') if folder.is_dir())
    for name in names:
        make(name)
        print(f'{name}: build/course/student/{name} and build/course/instructor/{name}')
    if not names: print('assignments/source holds no problem set yet')

if __name__ == '__main__': main()
