#!/usr/bin/env python3
"""Changes a Word document in place and leaves alone what it is not asked to change."""

import os
import re
import sys
import zipfile
from xml.dom import minidom

BODY = "word/document.xml"
TEXTS = re.compile(r"word/(document|header\d*|footer\d*|footnotes|endnotes)\.xml")
TRACKED = ("w:ins", "w:del", "w:moveFrom", "w:moveTo")
USAGE = "edit.py show FILE | replace FILE OLD NEW | set|add FILE NUMBER TEXT | remove FILE NUMBER [-o OUT]"


class Word:
    def __init__(self, path):
        try:
            with zipfile.ZipFile(path) as archive:
                self.parts = [(entry, archive.read(entry)) for entry in archive.infolist()]
        except (OSError, zipfile.BadZipFile) as error:
            sys.exit(f"{path} is no Word document that can be read: {error}")
        texts = [(entry.filename, data) for entry, data in self.parts if TEXTS.fullmatch(entry.filename)]
        if BODY not in dict(texts):
            sys.exit(f"{path} is no Word document: it has no {BODY}")
        if any(b"<!DOCTYPE" in data for _, data in texts):
            sys.exit(f"{path} declares entities, which a Word document never does")
        self.trees = {name: minidom.parseString(data) for name, data in texts}
        if any(tree.getElementsByTagName(tag) for tree in self.trees.values() for tag in TRACKED):
            sys.exit(f"{path} has tracked changes: they have to be accepted or rejected first")

    def paragraphs(self, part=BODY):
        return self.trees[part].getElementsByTagName("w:p")

    def paragraph(self, number):
        all_of_them = self.paragraphs()
        if not number.isdigit() or not 1 <= int(number) <= len(all_of_them):
            sys.exit(f"There is no paragraph {number}: they go from 1 to {len(all_of_them)}")
        return all_of_them[int(number) - 1]

    def save(self, path):
        beside = f"{path}.part"
        with zipfile.ZipFile(beside, "w") as archive:
            for entry, data in self.parts:
                tree = self.trees.get(entry.filename)
                archive.writestr(entry, tree.toxml(encoding="UTF-8") if tree else data, entry.compress_type)
        os.replace(beside, path)


def texts(paragraph):
    """The pieces of its text: not of a text box that is anchored in it, which has its own paragraphs."""
    def is_own(node):
        while node.nodeName != "w:p":
            node = node.parentNode
        return node is paragraph
    return [node for node in paragraph.getElementsByTagName("w:t") if is_own(node)]


def text_of(node):
    return "".join(child.data for child in node.childNodes)


def write(node, text):
    while node.firstChild:
        node.removeChild(node.firstChild)
    node.appendChild(node.ownerDocument.createTextNode(text))
    node.setAttribute("xml:space", "preserve")


def replace(paragraph, old, new):
    """The new words take the look of where the old ones began."""
    count, start = 0, 0
    while (at := "".join(map(text_of, texts(paragraph))).find(old, start)) >= 0:
        count, start, end, passed, begun = count + 1, at + len(new), at + len(old), 0, False
        for node in texts(paragraph):
            text = text_of(node)
            first, last = max(at - passed, 0), min(end - passed, len(text))
            if first < last:
                write(node, text[:first] + ("" if begun else new) + text[last:])
                begun = True
            passed += len(text)
    return count


def rewrite(paragraph, text):
    pieces = texts(paragraph)
    if pieces:
        write(pieces[0], text)
        for piece in pieces[1:]:
            write(piece, "")
        return
    document = paragraph.ownerDocument
    run, piece = document.createElement("w:r"), document.createElement("w:t")
    write(piece, text)
    run.appendChild(piece)
    paragraph.appendChild(run)


def after(paragraph, text):
    """A copy of its shape, with the look of its first words."""
    new = paragraph.cloneNode(False)
    for name in [name for name in new.attributes.keys() if name.startswith("w14:")]:
        new.removeAttribute(name)  # ids of paragraphs are unique
    for node in [node for node in paragraph.childNodes if node.nodeName == "w:pPr"]:
        shaped = node.cloneNode(True)
        for section in shaped.getElementsByTagName("w:sectPr"):
            section.parentNode.removeChild(section)
        new.appendChild(shaped)
    run = paragraph.ownerDocument.createElement("w:r")
    pieces = texts(paragraph)
    looks = pieces[0].parentNode.getElementsByTagName("w:rPr") if pieces else []
    piece = paragraph.ownerDocument.createElement("w:t")
    for node in looks[:1]:
        run.appendChild(node.cloneNode(True))
    write(piece, text)
    run.appendChild(piece)
    new.appendChild(run)
    paragraph.parentNode.insertBefore(new, paragraph.nextSibling)


def remove(paragraph):
    around = paragraph.parentNode
    if paragraph.getElementsByTagName("w:sectPr"):
        sys.exit("This paragraph ends a section and has to stay: set its text to nothing instead")
    marks = [mark.getAttribute("w:fldCharType") for mark in paragraph.getElementsByTagName("w:fldChar")]
    if marks.count("begin") != marks.count("end"):
        sys.exit("A field, such as the contents, begins or ends in this paragraph, which has to stay")
    # A cell without a paragraph is no cell.
    if around.nodeName == "w:tc" and len([p for p in around.childNodes if p.nodeName == "w:p"]) == 1:
        rewrite(paragraph, "")
    else:
        around.removeChild(paragraph)


def main(words):
    out = None
    if len(words) > 2 and words[-2] == "-o":
        words, out = words[:-2], words[-1]
    match words:
        case ["show", path]:
            for number, paragraph in enumerate(Word(path).paragraphs(), 1):
                style = [s.getAttribute("w:val") for s in paragraph.getElementsByTagName("w:pStyle")][:1]
                print(number, *style, "".join(map(text_of, texts(paragraph))), sep="\t")
            return
        case ["replace", path, old, new] if old:
            word = Word(path)
            count = sum(replace(p, old, new) for part in word.trees for p in word.paragraphs(part))
            if not count:
                sys.exit(f"{old!r} does not occur in {path}: use show, a break or a field may be in it")
            said = f"replaced {count} times"
        case ["set", path, number, text]:
            word, said = Word(path), f"paragraph {number} is rewritten"
            rewrite(word.paragraph(number), text)
        case ["add", path, number, text]:
            word, said = Word(path), f"a paragraph stands after {number}"
            after(word.paragraph(number), text)
        case ["remove", path, number]:
            word, said = Word(path), f"paragraph {number} is gone"
            remove(word.paragraph(number))
        case _:
            sys.exit(USAGE)
    word.save(out or path)
    print(f"{out or path}: {said}")


if __name__ == "__main__":
    main(sys.argv[1:])
