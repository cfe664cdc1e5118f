// Shows openapi.json in Swagger UI, whose search it extends: Swagger UI itself searches only tags and paths.
const spec = await (await fetch('openapi.json')).json();

const dark = matchMedia('(prefers-color-scheme: dark)');
const setTheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', setTheme);
setTheme();

/** Names of the members of a schema, also of those that it refers to. */
function membersOf(schema) {
  const {
    properties = {},
    allOf = [],
    oneOf = [],
  } = spec.components.schemas[schema?.$ref?.split('/').at(-1)] ?? schema;
  return [...Object.keys(properties), ...[...allOf, ...oneOf].flatMap(membersOf)];
}

/** The text of an operation that is searched. */
function textOf(path, method) {
  const { tags, operationId, summary, description, parameters = [], requestBody } = spec.paths[path][method];
  const names = parameters.map(({ name }) => name);
  const members = Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => membersOf(schema));
  return [method, path, operationId, summary, description, ...tags, ...names, ...members].join(' ').toLowerCase();
}

/** Keeps the operations whose text contains all words. */
function opsFilter(groups, phrase) {
  const words = phrase.toLowerCase().split(/\s+/);
  const isFound = (each) => words.every((word) => textOf(each.get('path'), each.get('method')).includes(word));
  return groups
    .map((group) => group.update('operations', (operations) => operations.filter(isFound)))
    .filter((group) => group.get('operations').size > 0);
}

/** Names the controls that Swagger UI leaves without a name, and corrects the levels of its headings, which skip one. */
function setNames() {
  const viewer = document.getElementById('viewer');
  const search = viewer.querySelector('.operation-filter-input');
  if (search) Object.assign(search, { ariaLabel: 'Search', placeholder: 'Search by name, path or field' });
  for (const choice of viewer.querySelectorAll('select:not([aria-label])'))
    choice.ariaLabel = choice.closest('tr')?.dataset.paramName ?? 'Example';
  // Only the operations are in a landmark, and several tables would be landmarks of the same name.
  viewer.querySelector('.information-container')?.setAttribute('role', 'banner');
  viewer.querySelector('.filter-container')?.setAttribute('role', 'search');
  for (const example of viewer.querySelectorAll('pre')) example.tabIndex = 0;
  for (const table of viewer.querySelectorAll('table[role=region]')) table.removeAttribute('role');
  for (const heading of viewer.querySelectorAll('h3, h4, h5')) heading.ariaLevel = Number(heading.tagName[1]) - 1;
}
new MutationObserver(setNames).observe(document.getElementById('viewer'), { childList: true, subtree: true });

/** The path of an operation. The usual component is a link, which would be inside of a button. */
const pathPlugin = ({ React }) => ({ components: { DeepLink: ({ text }) => React.createElement('span', null, text) } });

window.SwaggerUIBundle({
  spec,
  dom_id: '#viewer',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  docExpansion: 'list',
  filter: true,
  plugins: [{ fn: { opsFilter } }, pathPlugin],
  // The console sends requests; it also stores the key.
  supportedSubmitMethods: [],
  syntaxHighlight: { activated: false },
  onComplete: () => document.getElementById(location.hash.slice(1))?.scrollIntoView(),
});
