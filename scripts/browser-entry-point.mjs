// @ts-check
/** Files that have another version for browsers, whose name ends in `-in-browser`. */
const platformFiles = ['auth/request-token', 'client/recognizer/recognize']

/**
 * Makes the entry point for browsers from that for Node: the same names, but files for browsers where these exist.
 *
 * @param {string} index the text of `index.ts` or `index.js`
 */
export const browserEntryPoint = (index) =>
  platformFiles.reduce((text, file) => {
    const replaced = text.replace(`'./${file}.js'`, `'./${file}-in-browser.js'`)
    if (replaced === text) throw new Error(`The entry point does not export ${file}.js.`)
    return replaced
  }, index)
