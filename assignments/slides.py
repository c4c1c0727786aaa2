"""Slides of a lesson: python assignments/slides.py learn/softmax/10_double_sum out=FOLDER.

From the stored outputs, nothing runs. A section becomes a slide, a subsection one below it. Of the
text stay headings, the first sentence of each paragraph, displayed formulas and tables; of the code
what the lesson exports; of the rest the pictures. nbconvert writes HTML for reveal.js, which a
browser loads from reveal=URL (a folder of yours when the room has no network). Without a name all
lessons are written.
"""

import copy
import re
import sys
from pathlib import Path

NBS = Path(__file__).resolve().parent.parent / 'nbs'
LEFT_OUT = ('Exercises', 'Further reading', 'Next', 'Symbols')
LONG = 25  # lines of code that fit on a slide


def lessons():
    "Names of all lessons, in order."
    return [str(path.relative_to(NBS))[:-6] for path in sorted(NBS.glob('learn/*/*.ipynb'))]


def sections(source):
    "A markdown cell cut before each of its headings."
    return [part for part in re.split(r'(?m)^(?=#{1,3} )', source) if part.strip()]


def shortened(source):
    "Headings, first sentences, displayed formulas and tables of a text."
    kept = []
    for block in re.split(r'\n\s*\n', source):
        block = block.strip()
        if not block or block.startswith(('#', '$$', '|', '>', '1.', '- ')) or '$$' in block:
            kept.append(block)
        else:
            kept.append(re.split(r'(?<=[a-z$)*`][.?!])\s', block, maxsplit=1)[0])
    return '\n\n'.join(kept)


def picture(cell):
    "Whether a code cell left a picture."
    return any('image/png' in output.get('data', {}) for output in cell.get('outputs', ()))


def code_slide(cell):
    "A code cell for a slide, or None: pictures without code, and code that the lesson exports."
    source = ''.join(cell['source'])
    new = copy.deepcopy(cell)
    tags = new.metadata.setdefault('tags', [])
    if picture(cell):
        tags.append('remove_input')
        new.outputs = [output for output in new.outputs if 'image/png' in output.get('data', {})]
    elif '#| exports' in source and not cell.get('outputs'):
        new.source = re.sub(
            r'\n    """.*?\n    """', '', re.sub(r'(?m)^#\|.*\n', '', source), flags=re.S
        )
        if len(new.source.splitlines()) > LONG:
            return None
    else:
        return None
    new.metadata['slideshow'] = {'slide_type': 'subslide'}
    return new


def slides(notebook):
    "The notebook of a lesson with slide metadata, and only what a slide shows."
    import nbformat

    new, skipping = copy.deepcopy(notebook), False
    new.cells = []
    for cell in notebook.cells:
        if cell.cell_type == 'code':
            made = None if skipping else code_slide(cell)
            new.cells += [made] if made else []
            continue
        for part in sections(cell.source):
            heading = re.match(r'(#{1,3}) (.*)', part)
            if heading and len(heading[1]) < 3:
                skipping = heading[2].strip() in LEFT_OUT
            if skipping:
                continue
            kind = 'slide' if heading and len(heading[1]) < 3 else 'subslide'
            made = nbformat.v4.new_markdown_cell(shortened(part))
            made.metadata['slideshow'] = {'slide_type': kind}
            new.cells.append(made)
    return new


def html(notebook, reveal=None):
    "The slides as one HTML page."
    from nbconvert import SlidesExporter
    from traitlets.config import Config

    config = Config()
    config.TagRemovePreprocessor.enabled = True
    config.TagRemovePreprocessor.remove_input_tags = {'remove_input'}
    if reveal:
        config.SlidesExporter.reveal_url_prefix = reveal
    exporter = SlidesExporter(config=config)
    exporter.register_preprocessor('nbconvert.preprocessors.TagRemovePreprocessor', enabled=True)
    return exporter.from_notebook_node(slides(notebook))[0]


def main(arguments):
    "Write the slides of the lessons named, or of all."
    import nbformat

    options = dict(part.split('=', 1) for part in arguments if '=' in part)
    names = [part for part in arguments if '=' not in part] or lessons()
    for name in names:
        path = NBS / f'{name}.ipynb'
        if name not in lessons():
            raise SystemExit(f'{name} is no lesson; lessons are {", ".join(lessons()[:3])}, ...')
        target = Path(options['out']) / f'{name.removeprefix("learn/")}.slides.html'
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(html(nbformat.read(path, 4), options.get('reveal')), encoding='utf-8')
        print(target)


if __name__ == '__main__':
    main(sys.argv[1:])
