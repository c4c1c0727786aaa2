"Reads the requirements and the version from settings.ini; everything else stands in pyproject.toml."
from configparser import ConfigParser
from pathlib import Path

from setuptools import find_packages, setup

parser = ConfigParser(delimiters=['='], interpolation=None)
parser.read(Path(__file__).parent/'settings.ini', encoding='utf-8')
config = parser['DEFAULT']
lib = config['lib_path']
extras = {key.removesuffix('_requirements'): value.split()
          for key, value in config.items() if key.endswith('_requirements')}
extras['all'] = sorted({need for needs in extras.values() for need in needs if not need.startswith(lib)})
setup(version=config['version'], install_requires=config['requirements'].split(), extras_require=extras,
      packages=find_packages(include=[lib, f'{lib}.*']), package_data={lib: ['py.typed'], f'{lib}.data': ['registry.toml']})
