import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { main } from '../cli/command.js'

/** The steps of docs/SCALING.md. */
export type Step =
  'Secrets' | 'NATS' | 'Engine processes' | 'Edges' | 'The balancer' | 'A subscription' | 'A client' | 'Prometheus'

const page = 'docs/SCALING.md'

/** The commands of the page for a step, as they are there. */
export const commandsOf = async (step: Step): Promise<string> => {
  const found = new RegExp(`^\\*\\*\\d\\. ${step}[^]*?^\`\`\`sh\\n([^]*?)^\`\`\``, 'm').exec(
    await readFile(page, 'utf8'),
  )
  if (found?.[1] === undefined) throw new Error(`${page} has no commands for ${step}.`)
  return found[1]
}

/** What the page says to copy to which machines, besides the files that have the name of one. */
export const filesOf = async (kind: string): Promise<readonly string[]> => {
  if (kind === 'client') return ['ca.crt']
  const row = new RegExp(`^\\| (?:\`${kind}-|the ${kind})[^|]*\\| (.*) \\|$`, 'm').exec(await readFile(page, 'utf8'))
  const files = [...(row?.[1] ?? '').matchAll(/`([^`]+)`/g)]
    .map(([, file = '']) => file)
    .filter((file) => !file.includes('…'))
  if (files.length === 0) throw new Error(`${page} does not say which files to copy to ${kind}.`)
  return files
}

/** The command `rxspeech` of the build, in a folder for PATH. */
export const installCommand = async (folder: string, program = main): Promise<void> => {
  await mkdir(folder)
  const command = join(folder, 'rxspeech')
  await writeFile(command, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`)
  await chmod(command, 0o755)
}

/** Carries out the first step of the page in a new copy of the folder `docs/deploy`. */
export const prepareSecrets = async (
  folder: string,
  env: Readonly<Record<string, string>>,
  adapt: (commands: string) => string = (commands) => commands,
): Promise<void> => {
  await cp('docs/deploy', folder, { recursive: true })
  await promisify(execFile)('bash', ['-euc', adapt(await commandsOf('Secrets'))], { cwd: folder, env })
}
