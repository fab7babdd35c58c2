"""What an attacker would do, run on the owner's own table or release and reported in sentences with numbers."""
