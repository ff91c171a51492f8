import * as rxjs from 'rxjs'
import * as rxspeech from 'rxspeech'
import * as audio from 'rxspeech/audio'
import * as captions from 'rxspeech/captions'
import * as microphone from 'rxspeech/microphone'
import { describe, expect, it } from 'vitest'
import { eventText } from '../../src/cli/repl/event-text.js'
import { run } from './command.js'
import { runInProcess } from './in-process.js'

describe('rxspeech repl', () => {
  it('has a sample, a service, operators and an observer at hand, and ends with its input', async () => {
    const lines = [
      'sample.format.sampleRateHz',
      "const scripted = inMemoryService({ engine: scriptedEngine({ texts: ['seven of clubs'] }) })",
      'const session$ = recognize(scripted.recognizer({ format: sample.format }))(sample.audio$)',
      "await lastValueFrom(session$.pipe(filter(({ type }) => type === 'milestone'), take(1), tap(show)))",
      'await scripted.close()',
      'of(1, 2).pipe(map((x) => 2 * x)).subscribe(show)',
      'nonsense',
      'service.recognizer({ format: sample.format }).model',
    ]
    const input = Buffer.from(`${lines.join('\n')}\n`)
    const { code, stdout, stderr } = await run(['repl', '--model', 'call'], { stdin: input })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^8000\nmilestone +0 \d\d:\d\d\.\d seven of clubs\n/)
    expect(stdout).toContain('2\n4\ncomplete\nSubscription (closed)\n')
    expect(stdout).toMatch(/ReferenceError: nonsense is not defined/)
    expect(stdout).toMatch(/'call'\n$/)
  })

  it('says that its input ended before a session, and shows no more of it', async () => {
    const input = Buffer.from('recognize(options)(NEVER).subscribe(show)\n')
    const { code, stdout, stderr } = await run(['repl', '--model', 'call'], { stdin: input })
    expect(code).toBe(0)
    expect(stdout).not.toContain('reconnecting')
    expect(stderr).toMatch(/^rxspeech: the input ended while a subscription still ran, .*lastValueFrom\(…\)\.\n$/)
  })

  it('says what is wrong with a file or a model', async () => {
    expect(await runInProcess(['repl', '--audio', '/no/such.wav'])).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/such\.wav does not exist/),
    })
    expect(await runInProcess(['repl', '--model', 'cal'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/There is no model cal; choose one of/),
    })
  })

  it('has no name twice', () => {
    const names = [rxjs, rxspeech, audio, captions, microphone].flatMap((module) => Object.keys(module))
    const twice = names.filter(
      (name, at) => names.indexOf(name) !== at && !['default', 'module.exports'].includes(name),
    )
    expect(twice).toEqual([])
  })
})

describe('eventText', () => {
  it('is one line for an event or any other value', () => {
    expect(eventText({ type: 'milestone', channel: 1, startMs: 62_300, text: ' two\nlines ' })).toBe(
      'milestone  1 01:02.3 two lines',
    )
    expect(eventText({ type: 'connection', state: 'streaming', recognitionId: 'x' })).toBe('connection state=streaming')
    expect(eventText({ type: 'ledger', sentMs: 20_476.37512, channel: undefined })).toBe('ledger     sentMs=20476.375')
    expect([1, 'a\u001b[2J', undefined, { a: [1] }].map(eventText)).toEqual(['1', 'a [2J', 'undefined', '{"a":[1]}'])
  })
})
