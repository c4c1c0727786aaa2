"Reads requirements and version from settings.ini; the rest stands in pyproject.toml."

from configparser import ConfigParser
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

parser = ConfigParser(delimiters=['='], interpolation=None)
parser.read(Path(__file__).parent / 'settings.ini', encoding='utf-8')
config = parser['DEFAULT']
lib = config['lib_path']
extras = {
    key.removesuffix('_requirements'): value.split()
    for key, value in config.items()
    if key.endswith('_requirements')
}
extras['all'] = sorted(
    {need for needs in extras.values() for need in needs if not need.startswith(lib)}
)


class BuildWithoutIndex(build_py):
    "Leaves out the index that nbdev writes beside the modules; only nbdev reads it."

    def find_package_modules(self, package, package_dir):
        return [
            found
            for found in super().find_package_modules(package, package_dir)
            if found[1] != '_modidx'
        ]


class WheelOfOneMode(bdist_wheel):
    "Gives all files one mode: that of a checkout follows the umask, and the bytes would too."

    def write_wheelfile(self, *args, **options):
        super().write_wheelfile(*args, **options)
        for path in Path(self.bdist_dir).rglob('*'):
            if path.is_file():
                path.chmod(0o644)


setup(
    version=config['version'],
    install_requires=config['requirements'].split(),
    extras_require=extras,
    packages=find_packages(include=[lib, f'{lib}.*']),
    package_data={lib: ['py.typed'], f'{lib}.data': ['registry.toml']},
    cmdclass={'build_py': BuildWithoutIndex, 'bdist_wheel': WheelOfOneMode},
)
