// @ts-check
/** The files of which browsers load another one, with `-in-browser` behind its name. */
const ofPlatforms = ['auth/request-token', 'client/recognizer/recognize']

/**
 * The entry point for browsers: that for Node, with the same names, but other files for what depends on the platform.
 *
 * @param {string} index the text of `index.ts` or `index.js`
 */
export const browserEntryPoint = (index) =>
  ofPlatforms.reduce((text, file) => {
    const replaced = text.replace(`'./${file}.js'`, `'./${file}-in-browser.js'`)
    if (replaced === text) throw new Error(`The entry point does not export ${file}.js.`)
    return replaced
  }, index)
