/* Flips every byte of the files named, through a shared mapping and nothing else. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    struct stat stat;
    int fd = open(argv[i], O_RDWR);
    if (fd < 0 || fstat(fd, &stat) != 0) return 1;
    char *bytes = mmap(0, stat.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED) return 2;
    close(fd);
    for (off_t at = 0; at < stat.st_size; at++) bytes[at] ^= 1;
    /* No msync, no munmap: the process just ends. */
  }
  return 0;
}
