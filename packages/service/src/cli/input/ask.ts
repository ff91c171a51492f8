import { createInterface } from 'node:readline/promises'
import type { Host } from '../process/host.js'

/** Asks for yes or no, by default no; undefined without a terminal. Rejects with the signal's reason. */
export const ask = async (
  question: string,
  { stdin, stderr }: Pick<Host, 'stdin' | 'stderr'>,
  signal: AbortSignal,
): Promise<boolean | undefined> => {
  if (!stderr.isTTY || !stdin.isTTY) return undefined
  // The terminal itself edits the line, and Ctrl+C stays a signal.
  const lines = createInterface({ input: stdin, output: stderr, terminal: false })
  try {
    const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
    const answer = await Promise.race([lines.question(`${question} [y/N] `, { signal }), ended])
    return /^y(es)?$/i.test(answer.trim())
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    lines.close()
  }
}
