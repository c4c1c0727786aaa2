"What pyproject.toml cannot say: which modules stay out of a wheel, and the mode of its files."

from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py


class BuildWithoutNbdev(build_py):
    "Leaves out the index and the hook of nbdev beside the modules; only nbdev reads them."

    def find_package_modules(self, package, package_dir):
        return [
            found
            for found in super().find_package_modules(package, package_dir)
            if found[1] not in ('_modidx', '_export')
        ]


class WheelOfOneMode(bdist_wheel):
    "Gives all files one mode: that of a checkout follows the umask, and the bytes would too."

    def write_wheelfile(self, *args, **options):
        super().write_wheelfile(*args, **options)
        for path in Path(self.bdist_dir).rglob('*'):
            if path.is_file():
                path.chmod(0o644)


setup(cmdclass={'build_py': BuildWithoutNbdev, 'bdist_wheel': WheelOfOneMode})
