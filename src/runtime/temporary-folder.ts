// Folders of a process in the system's folder for temporary files. The service removes the folders of killed processes when
// it starts.
import { tmpdir } from 'node:os';
import { type LockedFolder, openLockedFolder, removeLeftFolders } from './locked-folder.ts';

const prefix = 'sonant-process-';

export const openTemporaryFolder = (): Promise<LockedFolder> => openLockedFolder(tmpdir(), prefix);

export const removeLeftTemporaryFolders = (): Promise<void> => removeLeftFolders(tmpdir(), prefix);
