import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { decodeSamples } from '../../../../src/audio/codec.js'
import { bytesOf } from '../../../../src/audio/pcm.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'
import { longIt } from '../../../../test/thorough.js'
import { callBeginning, callModels, callSamples, main, sampleCall } from './command.js'
import { FakeTerminal } from './fake-terminal.js'

const folder = temporaryFolder()
const speech = join(folder, 'speech.raw')
const grammar = `--models ${callModels} --model call`
/** Records the speech at once, and goes on in silence. */
const recorder = `--recorder "sh -c 'cat ${speech}; exec sleep 60'"`

beforeAll(() => {
  const stereo = decodeSamples(callSamples(callBeginning.durationMs), 'ulaw')
  writeFileSync(
    speech,
    bytesOf(Int16Array.from({ length: stereo.length + 32_000 }, (_none, at) => stereo[at - (at % 2)] ?? 0)),
  )
})

interface Session {
  readonly screen: () => string
  /** All that was written, with its control sequences. */
  readonly written: () => string
  readonly type: (keys: string) => void
  /** The exit code of the command, and whether the terminal shows what is typed afterwards. */
  readonly end: Promise<{ readonly code: number; readonly echo: boolean }>
}

/** Runs the command in a terminal of its own, by the program `script` of util-linux. */
const inTerminal = (args: string, { columns = 80, rows = 24, node = '' } = {}): Session => {
  const terminal = new FakeTerminal(columns, rows)
  const command = `stty cols ${columns} rows ${rows}; "${process.execPath}" ${node} "${main}" ${args}; echo "code=$?"; stty -a`
  const { PATH = '' } = process.env
  const child = spawn('script', ['-qfec', command, '/dev/null'], {
    env: { PATH, TERM: 'xterm', SHELL: '/bin/sh', TMPDIR: folder },
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (more: string) => {
    text += more
    terminal.take(more.replaceAll('\r\n', '\n'))
  })
  return {
    screen: () => terminal.screen.join('\n'),
    written: () => text,
    type: (keys) => void child.stdin.write(keys),
    end: new Promise((resolve) => {
      child.once('close', () => resolve({ code: Number(/code=(\d+)/.exec(text)?.[1]), echo: text.includes(' echo ') }))
    }),
  }
}

describe.runIf(process.platform === 'linux')('the command in a terminal', () => {
  it('listens until Ctrl-C, hides what is typed, and leaves the terminal as it was', async () => {
    const session = inTerminal(`listen ${grammar} ${recorder}`, { columns: 34 })
    await expect.poll(session.screen).toContain('good evening harbor')
    session.type(' ')
    await expect.poll(session.screen).toContain('○ muted 00:08  space unmute')
    // Several keys at once are a text that was pasted.
    session.type('typed')
    session.type('\u0003')
    expect(await session.end).toEqual({ code: 0, echo: true })
    // Long lines are wrapped by the terminal alone, and nothing that changes is left.
    expect(session.screen()).toMatch(/\[00:0\d\.\d\] good evening harbor gril\nl how can i help you\n8\.\d s of audio/)
    expect(session.written()).not.toContain('typed')
    expect(session.written().lastIndexOf('\u001b[?25h')).toBeGreaterThan(session.written().lastIndexOf('\u001b[?25l'))
  })

  longIt('restores the terminal after a crash', async () => {
    const crash = join(folder, 'crash.cjs')
    writeFileSync(crash, `setTimeout(() => { throw new Error('a crash') }, 3000)\n`)
    const session = inTerminal(`listen ${grammar} ${recorder}`, { node: `--require ${crash}` })
    await expect.poll(session.written).toContain('\u001b[?25l')
    expect(await session.end).toEqual({ code: 1, echo: true })
    expect(session.screen()).toContain('Error: a crash')
  })

  longIt('ends at once at the second Ctrl-C', async () => {
    const session = inTerminal(`listen ${grammar} ${recorder}`)
    await expect.poll(session.screen).toContain('● listening')
    session.type('\u0003')
    session.type('\u0003')
    expect(await session.end).toEqual({ code: 130, echo: true })
  })

  longIt('transcribes without what is typed, and ends at Ctrl-C', async () => {
    const session = inTerminal(`transcribe ${grammar} --speed 1 ${sampleCall}`)
    await expect.poll(session.screen).toMatch(/00:0[1-9]/)
    session.type('ls typed\r')
    await expect.poll(session.screen).toMatch(/good evening/)
    expect(session.written()).not.toContain('typed')
    session.type('\u0003')
    expect(await session.end).toEqual({ code: 130, echo: true })
  })
})
