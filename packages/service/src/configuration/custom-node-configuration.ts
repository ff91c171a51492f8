import type { CustomNodeSource } from 'rxspeech-server/custom-nodes/custom-node-source'
import { durationMs, oneOfWords, section, setting, text, wholeFrom, type SectionValues } from './settings.js'

/** A file or a package with custom nodes. */
export const customNode = section({
  file: setting(text, '', 'a JavaScript module'),
  package: setting(text, '', 'a package installed in the folder of the file'),
  run: setting(oneOfWords(['worker', 'inline'] as const), 'worker', 'in its own thread, or in that of the service'),
  budgetMs: durationMs(10, 1000, 'how long it may take for its input'),
  openWithinMs: durationMs(10, 10_000, 'how long it may take to open'),
  memoryMb: setting(wholeFrom(16, 4096), '64', 'memory of a thread'),
  maxWorkers: setting(wholeFrom(1, 10_000), '64', 'threads at the same time'),
})

type CustomNode = SectionValues<typeof customNode.shape>

/** @param from the folder of the configuration file, whose check has found either a file or a package */
export const customNodeSource = ({ file, package: name, ...host }: CustomNode, from: string): CustomNodeSource =>
  name === undefined ? { ...host, from, file: file ?? '' } : { ...host, from, package: name }
