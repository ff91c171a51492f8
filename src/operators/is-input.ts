import { from, type ObservableInput } from 'rxjs'

/** Whether `from` of RxJS takes it. */
export const isInput = (value: unknown): value is ObservableInput<unknown> => {
  try {
    void from(value as ObservableInput<unknown>)
    return true
  } catch {
    return false
  }
}
