// Parses small documents of an EPUB, such as its package and its contents, into a tree, even if they are malformed.
// Names are in lower case; element names have no prefix.
import { Parser } from 'htmlparser2';
import { BookFault, elementDepthMax, packageElementsMax } from './book.ts';

export interface MarkupElement {
  name: string;
  attributes: Readonly<Record<string, string>>;
  children: MarkupElement[];
  /** Text of the element and all its descendants. */
  text: string;
}

export function parseMarkup(source: string, kind: 'xml' | 'xhtml'): MarkupElement {
  const root: MarkupElement = { name: '', attributes: {}, children: [], text: '' };
  const stack = [root];
  let count = 0;
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (++count > packageElementsMax || stack.length > elementDepthMax)
          throw new BookFault('too_deep', 'has a table of contents or package document that is too large');
        const element = { name: name.replace(/^.*:/, '').toLowerCase(), attributes, children: [], text: '' };
        stack.at(-1)!.children.push(element);
        stack.push(element);
      },
      onclosetag() {
        const element = stack.length > 1 ? stack.pop()! : root;
        if (element !== root) stack.at(-1)!.text += element.text;
      },
      ontext(text) {
        stack.at(-1)!.text += text;
      },
    },
    { xmlMode: kind === 'xml', recognizeSelfClosing: true, recognizeCDATA: true, lowerCaseAttributeNames: true },
  );
  parser.end(source);
  return root;
}

/** All descendants with this name, in document order. */
export function findAll(element: MarkupElement, name: string): MarkupElement[] {
  const found: MarkupElement[] = [];
  const search = ({ children }: MarkupElement) => {
    for (const child of children) {
      if (child.name === name) found.push(child);
      search(child);
    }
  };
  search(element);
  return found;
}

export const findFirst = (element: MarkupElement, name: string): MarkupElement | undefined => findAll(element, name)[0];

export const textIn = (element: MarkupElement | undefined): string => (element?.text ?? '').replace(/\s+/g, ' ').trim();
