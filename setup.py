"What pyproject.toml cannot say: which modules stay out of a wheel."

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithoutNbdev(build_py):
    "Leaves out the index and the hook of nbdev beside the modules; only nbdev reads them."

    def find_package_modules(self, package, package_dir):
        return [
            found
            for found in super().find_package_modules(package, package_dir)
            if found[1] not in ('_modidx', '_export')
        ]


setup(cmdclass={'build_py': BuildWithoutNbdev})
