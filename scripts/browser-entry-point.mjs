// @ts-check
import { minifySync } from 'rolldown/experimental'

/**
 * The entry points that differ in browsers: the name of the one for browsers, and the files that have another version
 * for them, whose name ends in `-in-browser`.
 */
export const browserEntryPoints = {
  index: {
    name: 'browser',
    platformFiles: ['auth/request-token', 'client/recognizer/recognize'],
  },
  captions: { name: 'captions-browser', platformFiles: ['operators/captions/write-to'] },
  microphone: {
    name: 'microphone-browser',
    platformFiles: ['microphone/microphone', 'microphone/command-microphone'],
  },
  'ai-sdk': { name: 'ai-sdk-browser', platformFiles: ['client/recognizer/recognize'] },
  react: { name: 'react-browser', platformFiles: ['client/recognizer/recognize', 'microphone/microphone'] },
  'speech-recognition': {
    name: 'speech-recognition-browser',
    platformFiles: ['client/recognizer/recognize', 'microphone/microphone'],
  },
}

/**
 * Makes an entry point for browsers from that for Node: the same names, but files for browsers where these exist.
 *
 * @param {string} text of the entry point for Node, as TypeScript
 * @param {readonly string[]} platformFiles
 */
export const browserEntryPoint = (text, platformFiles) =>
  platformFiles.reduce((before, file) => {
    const replaced = before.replace(`'./${file}.js'`, `'./${file}-in-browser.js'`)
    if (replaced === before) throw new Error(`The entry point does not export ${file}.js.`)
    return replaced
  }, text)

/** The text of `worklet-source.js`, without comments. @param {string} worklet the text of `worklet.js` */
export const workletSource = (worklet) => {
  const { code, errors } = minifySync('worklet.js', worklet, { module: true })
  if (errors.length > 0) throw new Error('The worklet cannot be minified.')
  return `export const workletSource = ${JSON.stringify(code)}\n`
}
