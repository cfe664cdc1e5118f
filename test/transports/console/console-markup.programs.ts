// Tests markup on the Speak page in Chromium: the toolbar, keyboard use, colours, and audio identical to that of REST
// for the same markup.
import { beforeEach, describe, expect, test } from 'vitest';
import { isInstalled } from '../../programs.ts';
import { useConsole } from './open-console.ts';

describe.skipIf(!isInstalled('chromium'))('the marks of the Speak page', () => {
  const opened = useConsole();
  beforeEach(() => opened.consolePage.setDisplay('light'));

  const open = async (text: string) => {
    const { page, find, click, go } = opened.consolePage;
    await go('#/talk', 'Talk');
    await page.run(`sessionStorage.setItem('sonant-text', ${JSON.stringify(text)})`);
    await go('#/speak', 'Speak');
    await page.until(find('.marks-button, .markup-toolbar'));
    if (await page.run(`${find('.marks-button')} !== null && !${find('.marks-button')}.disabled`))
      await click('.marks-button');
    await page.until(find('.markup-toolbar button'));
  };
  const select = (part: string) =>
    opened.consolePage.page.run(`(() => { const field = ${opened.consolePage.find('#text')};
      const at = field.value.indexOf(${JSON.stringify(part)});
      field.setSelectionRange(at, at + ${part.length}); })()`);
  const press = (label: string) =>
    opened.consolePage.page.run(`[...document.querySelectorAll('.markup-toolbar button')]
      .find(({ innerText }) => innerText === ${JSON.stringify(label)}).click()`);
  const written = () => opened.consolePage.page.run<string>(`${opened.consolePage.find('#text')}.value`);
  const selected = () =>
    opened.consolePage.page.run<string>(`(() => { const { value, selectionStart, selectionEnd } = ${opened.consolePage.find('#text')};
      return value.slice(selectionStart, selectionEnd); })()`);
  const coloured = (kind: string) =>
    opened.consolePage.page.run<string[]>(`[...(CSS.highlights.get('markup-${kind}') ?? [])].map(
      ({ startContainer, startOffset, endOffset }) => startContainer.data.slice(startOffset, endOffset))`);

  test('a pause is written as a tag in plain text, its length is selected, and it is coloured', async () => {
    await open('Ready? Go.');
    await select('Go');
    await press('Pause');
    expect(await written()).toBe('Ready? [pause:500ms]Go.');
    expect(await selected()).toBe('500ms');
    expect(await coloured('tag')).toEqual(['[pause:500ms]']);
    await opened.consolePage.page.send('Input.insertText', { text: '2s' });
    expect(await coloured('tag')).toEqual(['[pause:2s]']);
    await opened.consolePage.page.run(`document.execCommand('undo')`);
    await opened.consolePage.page.run(`document.execCommand('undo')`);
    expect(await written()).toBe('Ready? Go.');
  });

  test('each mark is written around what is selected, inside the document and never in a tag', async () => {
    await open('Tom & Ann met two of us.[pause:1s]');
    await press('SSML');
    expect(await written()).toBe('<speak>Tom &amp; Ann met two of us.<break time="1s"/></speak>');
    const marks = [
      ['Emphasis', 'Ann', '<emphasis level="strong">Ann</emphasis>', 'strong'],
      ['Say as', 'two', '<say-as interpret-as="characters">two</say-as>', 'characters'],
      ['Substitute', 'us', '<sub alias="spoken words">us</sub>', 'spoken words'],
      ['Phonemes', 'met', '<phoneme alphabet="ipa" ph="təˈmɑːtəʊ">met</phoneme>', 'təˈmɑːtəʊ'],
      ['Language', ' of ', '<lang xml:lang="de"> of </lang>', 'de'],
      ['Mark', 'Tom', '<mark name="here"/>Tom', 'here'],
    ];
    for (const [label, part, expected, value] of marks) {
      await select(part!);
      await press(label!);
      expect(await written()).toContain(expected);
      expect(await selected()).toBe(value);
    }
    await select('<speak>');
    await press('Voice');
    expect(await written()).toMatch(/^<speak><voice name="[^"]+"><\/voice><mark/);
    expect(await coloured('stress')).toEqual(['Ann']);
    expect(await coloured('spoken')).toEqual(expect.arrayContaining(['two', 'us', 'met']));
    expect(await coloured('speaker')).toEqual(expect.arrayContaining([' of ']));
    expect(
      await opened.consolePage.page.run(`new DOMParser().parseFromString(${opened.consolePage.find('#text')}.value, 'text/xml')
      .querySelector('parsererror') === null`),
    ).toBe(true);
    await press('Plain text');
    expect(await written()).toBe('Tom & Ann met two of us.[pause:1s]');
  });

  test('what is marked is asked for as it is marked, and what only looks like it is plain text', async () => {
    const { page, find, click, textOf } = opened.consolePage;
    const text = '<speak>One <break time="700ms"/>two.</speak>';
    await open(text);
    await page.run(`(() => { const real = fetch; fetch = (url, init) => {
      if (String(url).endsWith('/sse')) window.asked = init.body;
      return real(url, init); }; })()`);
    await click('.speak-button');
    await page.until(`${find('.sound')}?.dataset.state === 'done'`);
    expect(JSON.parse(await page.run('window.asked'))).toMatchObject({ markup: 'ssml', text_chunks: [text] });
    expect(await textOf('.page')).toContain('Finished');
    await open('Ready?[pause:300ms] Go.');
    await click('.speak-button');
    await page.until(`JSON.parse(window.asked).markup === 'pauses'`);
    await open('Ready? [pause:soon] Go.');
    await click('.speak-button');
    await page.until(`JSON.parse(window.asked).markup === undefined`);
  });

  test('the toolbar is one stop of the Tab key, its buttons are reached with arrow keys', async () => {
    const { page, find } = opened.consolePage;
    await open('<speak>One</speak>');
    expect(await page.run(`document.querySelectorAll('.markup-toolbar [tabindex="0"]').length`)).toBe(1);
    await page.run(`${find('.markup-toolbar [tabindex="0"]')}.focus()`);
    const focused = () => page.run<string>('document.activeElement.innerText');
    expect(await focused()).toBe('Pause');
    await page.press('ArrowRight');
    expect(await focused()).toBe('Emphasis');
    await page.press('End');
    expect(await focused()).toBe('Plain text');
    await page.press('ArrowRight');
    expect(await focused()).toBe('Pause');
    await page.press('ArrowLeft', 'Home', 'ArrowRight', 'Enter');
    expect(await written()).toContain('<emphasis');
    expect(await page.run('document.activeElement.id')).toBe('text');
  });

  test('it is accessible in light and dark, and fits a phone', async () => {
    await open('<speak>A <emphasis>bright</emphasis> day, <lang xml:lang="de">ein heller Tag</lang>.</speak>');
    await opened.consolePage.inspect('marks');
  });
});
