import settings from './knip.json' with { type: 'json' };

/** What the product itself never uses. An export that its own file uses may be there for its test. */
export default { ...settings, ignoreExportsUsedInFile: true };
