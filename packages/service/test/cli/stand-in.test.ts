import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { standInFaults } from '../../src/testing/stand-in/faults.js'
import { runInProcess, startInProcess } from './in-process.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const folder = temporaryFolder()

const file = (name: string, content: unknown): string => {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

describe('rxspeech stand-in', () => {
  it('prints its address and the variables of clients, serves a script with faults, and ends at a signal', async () => {
    const script = file('words.json', { sessions: [['seven of clubs']] })
    const faults = file('faults.json', [
      {
        at: { when: 'elapsed', ms: 0 },
        fault: { do: 'refuse', connections: 1, code: 'overloaded', retryAfterMs: 2_000 },
      },
    ])
    const command = startInProcess([
      'stand-in',
      '--dialect',
      'openai,rxspeech',
      '--script',
      script,
      '--faults',
      faults,
      '--key',
      'secret-key',
    ])
    const [line] = (await once(command.stdout, 'data')) as [string]
    const ready = JSON.parse(line) as { url: string; wsUrl: string; env: Record<string, string> }
    expect(ready).toMatchObject({
      wsUrl: ready.url.replace('http', 'ws'),
      key: 'secret-key',
      dialect: ['openai', 'rxspeech'],
      env: { OPENAI_BASE_URL: `${ready.url}/v1`, OPENAI_API_KEY: 'secret-key', RXSPEECH_TOKEN: 'secret-key' },
    })
    const ask = () =>
      fetch(`${ready.url}/v1/audio/transcriptions`, { method: 'POST', headers: { Authorization: 'Bearer secret-key' } })
    const refused = await ask()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '2'])
    expect((await ask()).status).toBe(400)
    const report = await fetch(`${ready.url}/stand-in/sessions`)
    expect(await report.json()).toMatchObject({ sessions: [{ isAccepted: false }, { isAccepted: true }] })
    command.kill('SIGTERM')
    expect((await command.end).code).toBe(0)
  })

  it('shows in a terminal what to set for each client', async () => {
    const command = startInProcess(['stand-in', '--text', 'seven'], { columns: 100, env: { NO_COLOR: '1' } })
    const [shown] = (await once(command.stdout, 'data')) as [string]
    expect(shown).toContain('The stand-in of deepgram, openai is ready at http://127.0.0.1:')
    expect(shown).toMatch(/^ {2}export OPENAI_BASE_URL=http:\/\/127.0.0.1:\d+\/v1$/m)
    expect(shown).toContain("new DeepgramClient({ apiKey: 'stand-in-key', baseUrl: 'http://127.0.0.1:")
    expect(shown).toMatch(/^ {2}pipecat, OpenAI realtime +base_url="ws:/m)
    command.kill('SIGINT')
    await command.end
  })

  it('lists each fault in its help', async () => {
    const { stdout } = await runInProcess(['stand-in', '--help'])
    for (const name of Object.keys(standInFaults)) expect(stdout).toMatch(new RegExp(`^  ${name} +[a-z]`, 'm'))
  })

  it.each([
    [['--dialect', 'acme'], '--dialect must be one or several of deepgram, openai, rxspeech, not "acme".'],
    [['--faults', 'dropp'], '--faults must be one of drop, half-open,'],
    [['--text', 'a', '--models', 'b'], 'Set one of --text, --script and --models.'],
    [['--script', 'missing.json'], '--script names missing.json, which cannot be read'],
    [['--faults', 'missing.json'], '--faults names missing.json, which cannot be read'],
    [['--record', '/dev/null/a'], 'The folder /dev/null/a of record cannot be written (ENOTDIR); name another.'],
    [['--tls', '/dev/null/a'], 'The folder /dev/null/a of tls cannot be written (ENOTDIR); name another.'],
    [['--port', '70000'], '--port must be a whole number from 0 to 65535'],
  ])('refuses %j', async (flags, sentence) => {
    const { code, stderr } = await runInProcess(['stand-in', ...flags])
    expect([code, stderr]).toEqual([2, expect.stringContaining(sentence)])
  })

  it('says where a script or a fault is wrong', async () => {
    const script = file('broken.json', [{ text: 'one', endms: 5 }])
    expect((await runInProcess(['stand-in', '--script', script])).stderr).toContain(
      'broken.json: Unknown option "0.endms"; did you mean endMs?',
    )
    const faults = file('broken-faults.json', [{ at: { when: 'audio', ms: 1 }, fault: { do: 'late-final' } }])
    expect((await runInProcess(['stand-in', '--faults', faults])).stderr).toMatch(
      /broken-faults\.json: .*fault\.delayMs must be a number from 0/,
    )
    expect((await runInProcess(['stand-in', '--script', file('no.json', 'words')])).stderr).toContain(
      'which is not JSON',
    )
  })
})
