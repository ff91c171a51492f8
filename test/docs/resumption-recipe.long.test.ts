import { describe, expect, it } from 'vitest'
import { defaultHeartbeatMs, resolveResumption, resolveSessionOptions } from '../../src/client/options.js'
import { SpeechError } from '../../src/errors/speech-error.js'
import { tableBelow } from './markdown.js'
import { openRecipe, readerTimeoutMs } from './reader-folder.js'
import { maxLingerMs } from './run-program.js'

const recipe = openRecipe('resumption')

const printed = async (command: string): Promise<readonly string[]> => {
  const { exitCode, stdout, stderr, lingeredMs } = await recipe.shell(command)
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  expect(lingeredMs).toBeLessThan(maxLingerMs)
  return stdout.trimEnd().split('\n')
}

/** The output of each program; the code of a failed attempt depends on how far it got. */
const programs: readonly (readonly [name: string, lines: readonly unknown[]])[] = [
  [
    'bad-network',
    [
      ...['authorizing', 'connecting', 'starting', 'streaming'],
      'reconnecting, attempt 1: connection-lost',
      expect.stringMatching(/^reconnecting, attempt 2: connection-(lost|failed)$/),
      ...['streaming', 'resumed, audio is sent again: true', 'finalizing', 'done'],
      '0 ms never arrived; 3 connections, 2 tokens',
      'the text is whole: true',
    ],
  ],
  [
    'long-session',
    [
      'authorizing connecting starting streaming resumed resumed finalizing done',
      '0 ms never arrived; 3 connections, 2 tokens',
    ],
  ],
  [
    'three-ends',
    [
      'done ',
      'failed finalize-timeout',
      '  pending from 2000 ms to 3000 ms: failed',
      expect.stringMatching(/^failed connection-(lost|failed)$/),
      '  pending from 0 ms to 3000 ms: failed',
    ],
  ],
]

// Concurrently, because two of the programs mostly wait, and an hour of virtual time takes 4 s.
describe.concurrent('docs/recipes/resumption.md', { timeout: readerTimeoutMs }, () => {
  it.each(programs)('has a program %s that prints what the page explains, and exits', async (name, lines) => {
    expect(recipe.blocks.map(({ text }) => text)).toContain(`node ${name}.mjs`)
    expect(await printed(`node ${name}.mjs`)).toEqual(lines)
  })

  it('names the defaults of the options', () => {
    const given = resolveResumption(true, () => 1)
    const firstDelayMs = given?.delayMs(1, new SpeechError('connection-lost', 'Lost.'), 0)
    const settings = resolveSessionOptions({
      url: 'ws://localhost',
      token: 'any',
      format: { encoding: 'pcm', sampleRateHz: 8000, channels: 1 },
    })
    const rows = tableBelow(recipe.page, 'Events and options').map(([option = '', byDefault = '']) => [
      [...option.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
      byDefault,
    ])
    expect(settings.bounds.maxReplayBytes).toBe(60 * 16_000)
    expect(settings.bounds.maxPulledReplayBytes).toBe(600 * 16_000)
    expect(rows).toEqual([
      [['resumption'], settings.resumption === undefined ? '`false`' : '`true`'],
      [['resumption.budgetMs'], String(given?.budgetMs)],
      [['resumption.firstDelayMs', 'resumption.maxDelayMs'], [firstDelayMs, given?.maxDelayMs].join(', ')],
      [['resumption.maxReplayBytes'], '60 s of the format, 600 s for a source that is pulled'],
      [['resumption.maxConnectionMs'], String(given?.maxConnectionMs)],
      [['buffer.maxMs'], String(settings.bounds.maxWaitingMs)],
      [['connection.heartbeatMs'], String(defaultHeartbeatMs)],
      [['timeouts.silenceMs'], String(settings.silenceMs)],
    ])
  })
})
